// SPDX-License-Identifier: MIT
//
// onnx_peer.js DIR <jobs.json: runs networks in ONNX Runtime, whose package lies in DIR.  A job is
// {model: file, in: [[type, [dims], file]...], outs: [file...]} of raw elements; prints a list with
// [[type, [dims]]...] of the outputs for each, or what went wrong.
'use strict';
const fs = require('fs');
const path = require('path');

const ort = require(path.join(process.argv[2], 'node_modules', 'onnxruntime-node'));
const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array,
  bool: Uint8Array, float16: Uint16Array, int32: Int32Array, int64: BigInt64Array,
};

function write(file, { data }) {
  fs.writeFileSync(file, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

async function run(job) {
  const session = await ort.InferenceSession.create(job.model, {
    intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3,
  });
  const feeds = {};
  job.in.forEach(([type, dims, file], i) => {
    const bytes = new Uint8Array(fs.readFileSync(file));  // a copy that begins where it must
    feeds[session.inputNames[i]] = new ort.Tensor(type, new arrays[type](bytes.buffer), dims);
  });
  const results = await session.run(feeds);
  const outputs = session.outputNames.map((name) => results[name]);
  job.outs.forEach((file, i) => write(file, outputs[i]));
  return outputs.map(({ type, dims }) => [type, dims]);
}

async function main() {
  const said = [];
  for (const job of JSON.parse(fs.readFileSync(0, 'utf8')))
    said.push(await run(job).catch((e) => e.message));
  console.log(JSON.stringify(said));
}

main();
