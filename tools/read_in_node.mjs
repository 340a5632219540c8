// read_in_node.mjs - a model in onnxruntime-web's wasm backend, for tools/readers.py: the first output into a file, its sizes to stdout.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const modules = process.env.PT2ONNX_READERS_NODE ?? join(fileURLToPath(new URL('..', import.meta.url)), '.venv-readers', 'node');
const ort = await import(pathToFileURL(join(modules, 'node_modules', 'onnxruntime-web', 'dist', 'ort.wasm.bundle.min.mjs')));
const told = JSON.parse(process.argv[2]);
const arrays = { float32: Float32Array, int64: BigInt64Array, bool: Uint8Array };

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const session = await ort.InferenceSession.create(readFileSync(told.model), { executionProviders: ['wasm'] });
const feeds = {};
told.inputs.forEach(({ file, type, dims }, i) => {
  const bytes = readFileSync(file);
  feeds[session.inputNames[i]] = new ort.Tensor(type, new arrays[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), dims);
});
const output = (await session.run(feeds))[session.outputNames[0]];
writeFileSync(told.output, new Uint8Array(output.data.buffer, output.data.byteOffset, output.data.byteLength));
console.log(JSON.stringify(output.dims));
process.exit(0);
