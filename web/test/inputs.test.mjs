// inputs.test.mjs - the inputs that the page offers are those that `pt2onnx show --json` lists.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { NoSizes, editedOf, inputsOf, specOf } from '../src/inputs.js';
import { top } from './browser.mjs';

const program = join(process.env.PT2ONNX_BUILD ?? join(top, 'build'), 'pt2onnx');
const inputs = (file) => inputsOf(JSON.parse(execFileSync(program, ['show', '--json', file], { cwd: top, encoding: 'utf8' })).arguments);

test('types and sizes that a file knows', () => {
  assert.deepEqual(inputs('examples/digits_cnn.pt2').map(({ name, kind, type, sizes }) => [name, kind, type, sizes]), [['x', 'tensor', 'float32', 's77, 1, 8, 8']]);
});

test('a tensor of which nothing is known, and a number', () => {
  const [x, scale] = inputs('tests/cli/files/scripted.pt');
  assert.deepEqual([x.name, x.kind, x.type, x.sizes, scale.name, scale.kind, scale.declared], ['x', 'tensor', '', '', 'scale', 'value', 'int = 2']);
  assert.equal(specOf(x, { type: '', sizes: '', value: '' }), null);
  assert.equal(specOf(x, { type: '', sizes: 'N, 3', value: '' }), 'x:float32[N,3]');
  assert.equal(specOf(x, { type: 'int64', sizes: '[]', value: '' }), 'x:int64[]');
  assert.equal(specOf(x, { type: '', sizes: '1x3 x N × x_0', value: '' }), 'x:float32[1,3,N,x_0]');
  assert.deepEqual(inputs('tests/cli/files/custom_lists.pt2').map((input) => input.sizes), ['s17, 3', 's17, 3'], 'of a program that cannot be converted');
  assert.throws(() => specOf(x, { type: 'int64', sizes: '', value: '' }), NoSizes);
  assert.equal(specOf(scale, { type: '', sizes: '', value: '3' }), 'scale=3');
});

test('what an error wants goes into the fields, and comes out as the same SPEC', () => {
  const known = inputs('tests/cli/files/scripted.pt');
  const specs = ['scale=2', 'x:float32[N,3]'];
  for (const input of known)
    assert.ok(specs.includes(specOf(input, editedOf(input, specs))), input.name);
  assert.equal(specOf(known[0], editedOf(known[0], ['x:int64[]'])), 'x:int64[]');
  assert.equal(editedOf(known[0], ['x.image:float32[4]', 'y:float32[4]', 'x=3']), null);
});
