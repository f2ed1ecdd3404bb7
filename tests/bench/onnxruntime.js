// SPDX-License-Identifier: MIT
// node onnxruntime.js PACKAGES MODEL THREADS SHAPE INPUT OUTPUT: runs a network in ONNX Runtime
// (scripts/fetch-onnxruntime prints PACKAGES).  INPUT and OUTPUT are raw float32; SHAPE is
// 1,3,224,224.  Prints "ready", then for every line on stdin runs once and prints how many
// milliseconds it took; at the end of stdin writes the last output.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');

const [packages, model, threads, shape, input, output] = process.argv.slice(2);
const ort = require(path.join(packages, 'node_modules', 'onnxruntime-node'));

async function main()
{
	const session = await ort.InferenceSession.create(model, {
		intraOpNumThreads: Number(threads), interOpNumThreads: 1, logSeverityLevel: 3,
	});
	const bytes = fs.readFileSync(input);
	const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
	const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', data,
								 shape.split(',').map(Number)) };
	let result = null;

	console.log('ready');
	for await (const _ of readline.createInterface({ input: process.stdin })) {
		const start = process.hrtime.bigint();

		result = await session.run(feeds);
		console.log((Number(process.hrtime.bigint() - start) / 1e6).toFixed(3));
	}
	if (result) {
		const out = result[session.outputNames[0]].data;

		fs.writeFileSync(output, new Uint8Array(out.buffer, out.byteOffset, out.byteLength));
	}
}

main().catch((e) => {
	console.error(`onnxruntime.js: ${e.message}`);
	process.exit(1);
});
