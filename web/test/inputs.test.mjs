// inputs.test.mjs - the inputs that the page offers are those that `pt2onnx show` lists.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { NoSizes, inputsOf, specOf } from '../src/inputs.js';
import { top } from './browser.mjs';

const program = join(process.env.PT2ONNX_BUILD ?? join(top, 'build'), 'pt2onnx');
const inputs = (file) => inputsOf(execFileSync(program, ['show', file, '-q'], { cwd: top, encoding: 'utf8' }));

test('types and sizes that a file knows', () => {
  assert.deepEqual(inputs('examples/digits_cnn.pt2').map(({ name, kind, type, sizes }) => [name, kind, type, sizes]), [['x', 'tensor', 'float32', 's77, 1, 8, 8']]);
});

test('a tensor of which nothing is known, and a number', () => {
  const [x, scale] = inputs('tests/cli/files/scripted.pt');
  assert.deepEqual([x.name, x.kind, x.type, x.sizes, scale.name, scale.kind, scale.declared], ['x', 'tensor', '', '', 'scale', 'value', 'int = 2']);
  assert.equal(specOf(x, { type: '', sizes: '', value: '' }), null);
  assert.equal(specOf(x, { type: '', sizes: 'N, 3', value: '' }), 'x:float32[N,3]');
  assert.equal(specOf(x, { type: 'int64', sizes: '[]', value: '' }), 'x:int64[]');
  assert.throws(() => specOf(x, { type: 'int64', sizes: '', value: '' }), NoSizes);
  assert.equal(specOf(scale, { type: '', sizes: '', value: '3' }), 'scale=3');
});
