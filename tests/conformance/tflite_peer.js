// SPDX-License-Identifier: MIT
//
// tflite_peer.js DIR <jobs.json: runs networks in TensorFlow Lite, whose WebAssembly files DIR
// holds.  A job is {model: file, in: [file...], out: [file...]} of raw bytes; prints a list with
// "" or what went wrong for each.
'use strict';
const fs = require('fs');
const path = require('path');

const name = path.join(process.argv[2], 'tflite_web_api_cc_simd');

function run(module, job) {
  const file = fs.readFileSync(job.model);
  const at = module._malloc(file.length);
  module.HEAPU8.set(file, at);
  const made = module.TFLiteWebModelRunner.CreateFromBufferAndOptions(at, file.length, {
    numThreads: 1, enableProfiling: false, maxProfilingBufferEntries: 1,
  });
  if (!made.ok())
    return made.errorMessage();
  const runner = made.value();
  const bytes = (tensor) => {
    const data = tensor.data();
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  };
  job.in.forEach((input, i) => bytes(runner.GetInputs().get(i)).set(fs.readFileSync(input)));
  if (!runner.Infer())
    return 'it does not run';
  job.out.forEach((output, i) => fs.writeFileSync(output, bytes(runner.GetOutputs().get(i))));
  return '';
}

async function main() {
  global.self = global;  // it was written for browsers
  const load = new Function('require', '__filename', '__dirname', 'module',
    `${fs.readFileSync(`${name}.js`, 'utf8')}; return tflite_web_api_ModuleFactory;`);
  const module = await load(require, `${name}.js`, process.argv[2], {})({
    wasmBinary: fs.readFileSync(`${name}.wasm`), print: () => {}, printErr: () => {},
  });
  const jobs = JSON.parse(fs.readFileSync(0, 'utf8'));
  console.log(JSON.stringify(jobs.map((job) => run(module, job))));
}

main();
