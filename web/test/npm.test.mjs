// npm.test.mjs - the npm package, packed and installed into an empty folder: its program, its functions in Node, its types, and
// its functions in a page, bundled by esbuild. What it writes has the bytes of the native program.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import esbuild from 'esbuild';
import { cache, commandLine, nativeModel, needs, start, top } from './browser.mjs';

const folder = mkdtempSync(join(tmpdir(), 'pt2onnx-npm-'));
const installed = join(folder, 'node_modules/pt2onnx');
const bin = join(folder, 'node_modules/.bin/pt2onnx');
const digits = join(top, 'examples/digits_cnn.pt');
const spec = 'x:float32[N,1,8,8]';
const native = () => nativeModel(digits, '-i', spec);

function pack(name) {
  const from = join(folder, name);
  execFileSync('node', ['build.mjs', '--npm', from], { cwd: join(top, 'web') });
  execFileSync('npm', ['pack', '-s', '--pack-destination', from], { cwd: from });
  return join(from, readdirSync(from).find((file) => file.endsWith('.tgz')));
}

let pt2onnx;
before(async () => {
  const packed = pack('first');
  assert.ok(readFileSync(packed).equals(readFileSync(pack('second'))), 'npm pack gives other bytes the second time');
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  execFileSync('npm', ['install', '-s', '--offline', '--no-audit', '--no-fund', packed], { cwd: folder });
  pt2onnx = await import(pathToFileURL(join(installed, 'index.js')));
});
after(() => rmSync(folder, { recursive: true }));

const empty = (name) => {
  const there = join(folder, name);
  mkdirSync(there);
  return there;
};

test('npx pt2onnx writes the bytes of the native program', () => {
  copyFileSync(digits, join(folder, 'net.pt'));
  execFileSync('npx', ['--offline', 'pt2onnx', 'net.pt', '-q', '-i', spec], { cwd: folder });
  assert.ok(readFileSync(join(folder, 'net.onnx')).equals(native()));
});

test('npm: where it was built leaves no trace', () => {
  for (const name of ['pt2onnx.wasm', 'pt2onnx-node.wasm']) {
    const bytes = readFileSync(join(installed, name));
    assert.ok(bytes.includes('src/base/') && !bytes.includes('/src/base/'), `${name} has the path of a folder`);
  }
});

const models = JSON.parse(readFileSync(needs(join(cache, 'models.json'))));
for (const [name, { file, specs }] of Object.entries(models)) {
  test(`npm: ${name} converts to the program's bytes`, () => {
    const words = specs.flatMap((s) => ['-i', s]);
    assert.ok(execFileSync(bin, [needs(file), '-q', '-o', '-', ...words], { maxBuffer: 2 ** 30 }).equals(nativeModel(file, ...words)));
  });
}

test('npm: options, words and exit codes are those of the program', () => {
  assert.ok(execFileSync(bin, [digits, '-q', '-o', '-', '--weights-type', 'float16', '-i', spec]).equals(nativeModel(digits, '--weights-type', 'float16', '-i', spec)));
  for (const words of [['--help'], ['help', 'inputs'], ['unsupported.pt'], ['nosuch.pt'], ['--opset', '7', 'net.pt'], ['show', 'net.pt']]) {
    const there = join(top, 'tests/cli/files');
    const ran = spawnSync(bin, words, { cwd: there, encoding: 'utf8' });
    const wanted = spawnSync(join(process.env.PT2ONNX_BUILD ?? join(top, 'build'), 'pt2onnx'), words, { cwd: there, encoding: 'utf8' });
    assert.deepEqual([ran.status, ran.stdout, ran.stderr], [wanted.status, wanted.stdout, wanted.stderr], words.join(' '));
  }
});

test('npm: a path, a URL, bytes and a Blob give the same model', async () => {
  const bytes = readFileSync(digits);
  for (const model of [digits, pathToFileURL(digits), bytes, new Uint8Array(bytes).buffer, new Blob([bytes])]) {
    const { files, notes, bytes: size, opset } = await pt2onnx.convert(model, { inputs: [spec] });
    assert.deepEqual([files.length, notes.length, size, opset], [1, 0, native().length, 18]);
    assert.ok(Buffer.from(await files[0].blob.arrayBuffer()).equals(native()));
  }
});

test('npm: a file that cannot be converted is an error with notes, and leaves nothing', async () => {
  const there = empty('refused');
  const file = join(top, 'tests/cli/files/unsupported.pt');
  await assert.rejects(pt2onnx.convert(file, { output: join(there, 'x.onnx') }), (error) => {
    assert.ok(error instanceof pt2onnx.ConversionError);
    assert.equal(error.status, 'cannot_convert');
    assert.ok(commandLine(file).message.includes(error.message.split('\n').slice(1).join('\n')), error.message);
    return true;
  });
  await assert.rejects(pt2onnx.convert(digits, { opset: 7 }), { status: 'usage' });
  assert.deepEqual(readdirSync(there), []);
});

test('npm: 448 MB are converted in the memory of the graph', () => {
  const there = empty('large');
  const ran = execFileSync('node', ['--input-type=module', '-e', `
    import { convert } from 'pt2onnx';
    const { bytes } = await convert(process.argv[1], { output: 'large.onnx', weights: 'external', inputs: ['input:float32[N,6000]'] });
    console.log(JSON.stringify({ bytes, most: process.resourceUsage().maxRSS / 1024 }));`, needs(join(cache, 'middle.pt'))], { cwd: there, encoding: 'utf8' });
  const { bytes, most } = JSON.parse(ran);
  console.log(`# npm: ${(bytes / 1e6).toFixed(0)} MB with ${most.toFixed(0)} MB of memory`);
  assert.ok(bytes > 448e6 && most < 250, ran);
  const [first, second] = JSON.parse(readFileSync(join(cache, 'middle.json')));
  const data = readFileSync(join(there, 'large.onnx.data'));
  assert.equal(data.subarray(-16).toString('hex'), second.end);
  assert.equal(data.subarray(-second.bytes, -second.bytes + 16).toString('hex'), second.begin);
  assert.ok(data.subarray(0, 8192).includes(Buffer.from(first.begin, 'hex')));
});

test('npm: a signal, of the system or of a caller, leaves no unfinished file', async () => {
  const there = empty('stopped');
  const output = join(there, 'x.onnx');
  const slow = join(top, 'tests/hostile/list_diamond_eq.pt');
  const words = ['-o', output, '-q', '--limit', 'seconds=600', slow];
  const child = spawn(bin, words);
  for (let i = 0; i < 300 && readdirSync(there).length === 0; i++)
    await sleep(100);
  assert.ok(readdirSync(there).length > 0, 'the output is not begun');
  child.kill('SIGINT');
  assert.equal(await new Promise((done) => child.on('exit', done)), 130);
  assert.deepEqual(readdirSync(there), []);
  await assert.rejects(pt2onnx.convert(slow, { output, signal: AbortSignal.timeout(2000) }), { name: 'TimeoutError' });
  assert.deepEqual(readdirSync(there), []);
});

test('npm: the types, and an example that uses them', async () => {
  copyFileSync(join(top, 'web/test/npm.example.ts'), join(folder, 'example.ts'));
  const tsc = spawnSync(join(top, 'web/node_modules/.bin/tsc'), ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom', 'example.ts'],
    { cwd: folder, encoding: 'utf8' });
  assert.equal(tsc.status, 0, tsc.stdout);
  const { code } = await esbuild.transform(readFileSync(join(folder, 'example.ts'), 'utf8'), { loader: 'ts', format: 'esm' });
  writeFileSync(join(folder, 'example.js'), code);
  const { example } = await import(pathToFileURL(join(folder, 'example.js')));
  assert.match((await example(digits, join(folder, 'typed.onnx'))).join(' '), /^\d+ 0 0 assumed TorchScript archive/);
});

test('npm: bundled for a page by esbuild, with its two files beside', async () => {
  const site = empty('site');
  writeFileSync(join(folder, 'app.js'), `
    import { check, convert, ConversionError, show } from 'pt2onnx';
    Object.assign(globalThis, { check, convert, ConversionError, show });
    document.documentElement.dataset.ready = 'true';`);
  await esbuild.build({ entryPoints: [join(folder, 'app.js')], bundle: true, format: 'esm', outdir: site, absWorkingDir: folder });
  for (const name of ['pt2onnx.wasm', 'convert-worker.js'])
    copyFileSync(join(installed, name), join(site, name));
  copyFileSync(digits, join(site, 'net.pt'));
  writeFileSync(join(site, 'index.html'), '<!DOCTYPE html><link rel="icon" href="data:,"><script type="module" src="app.js"></script>');
  const { page, complaints, stop } = await start({ folder: site });
  try {
    const [name, bytes, notes] = await page.evaluate(async (spec) => {
      const { files: [{ name, blob }], notes } = await convert(await (await fetch('net.pt')).blob(), { inputs: [spec] });
      return [name, [...new Uint8Array(await blob.arrayBuffer())], notes.length];
    }, spec);
    assert.deepEqual([name, notes], ['model.onnx', 0]);
    assert.ok(Buffer.from(bytes).equals(native()));
    assert.equal(await page.evaluate(async () => (await show('net.pt')).inputs[0].name).catch((e) => e.message), 'x');
    assert.equal(await page.evaluate(async () => (await check(new URL('net.pt', location))).notes[0].kind), 'assumed');
    assert.deepEqual(await page.evaluate(() => convert(new Uint8Array(4)).catch((e) => [e instanceof ConversionError, e.status])), [true, 'unreadable']);
    assert.deepEqual(await page.evaluate(() => convert('net.pt', { weightsType: 'float16' }).catch((e) => [e.status, e.message])),
      ['usage', 'there is no option weights-type=float16 here']);
    assert.deepEqual(complaints, []);
  } finally {
    await stop();
  }
});
