// What examples/node promises beside converting: abort, errors of the program, several at once.
// usage: node node_example.mjs EXAMPLE MODEL FOLDER
import assert from 'node:assert';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [example, model, folder] = process.argv.slice(2);
const { convert, ConversionError } = await import(pathToFileURL(example));
const out = path.join(folder, 'node');
fs.mkdirSync(out);
const at = (name) => path.join(out, name);

const done = await Promise.all([1, 2, 3].map((n) => convert(model, at(`${n}.onnx`), { opset: 20 })));
assert.deepStrictEqual(done.map((d) => d.bytes), [1, 2, 3].map((n) => fs.statSync(at(`${n}.onnx`)).size));
assert.deepStrictEqual(done[0].notes.map((n) => n.kind), ['assumed']);
fs.rmSync(out, { recursive: true });
fs.mkdirSync(out);

await assert.rejects(convert(model, at('x.onnx'), { inputs: ['x:float33[1]'] }), (e) => e instanceof ConversionError && e.status === 'usage' && /float33/.test(e.message));
await assert.rejects(convert(model, at('x.onnx'), { more: ['--no-such'] }), (e) => e instanceof ConversionError && e.status === 'usage' && /no-such/.test(e.message));
await assert.rejects(convert(model, at('x.onnx'), { program: at('none') }), { code: 'ENOENT' });
await assert.rejects(convert(model, at('x.onnx'), { signal: AbortSignal.abort() }), { name: 'AbortError' });
const stop = new AbortController();
const stopped = convert(model, at('x.onnx'), { signal: stop.signal });
stop.abort();
await assert.rejects(stopped, { name: 'AbortError' });
