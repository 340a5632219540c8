// convert.test.mjs - files dropped into the page: the model is byte for byte the program's, and so are the messages.
import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cache, commandLine, convert, give, inBrowsers, nativeModel, needs, open, saved, top } from './browser.mjs';

const models = JSON.parse(readFileSync(needs(join(cache, 'models.json'))));

function damaged() {
  const folder = mkdtempSync(join(tmpdir(), 'pt2onnx-'));
  const whole = readFileSync(join(top, 'examples/digits_cnn.pt'));
  writeFileSync(join(folder, 'cut.pt'), whole.subarray(0, whole.length / 2));
  const flipped = Buffer.from(whole);
  const at = whole.indexOf('DigitsCnn');             // in data.pkl
  for (let i = at - 16; i < at; i++)
    flipped[i] ^= 0x5a;
  writeFileSync(join(folder, 'flipped.pt'), flipped);
  copyFileSync(join(top, 'README.md'), join(folder, 'text.pt'));
  return ['cut.pt', 'flipped.pt', 'text.pt'].map((name) => join(folder, name));
}

const hostile = ['cyc_dict', 'cyc_loop', 'esc_class', 'recursive_namedtuple', 'split_1e9', 'stride0_huge', 'list_diamond_eq']
  .map((name) => join(top, 'tests/hostile', `${name}.pt`));

const tabs = () => execSync('ps -eo pid,args').toString().split('\n').filter((line) => /--type=renderer|-contentproc .* tab$/.test(line)).map((line) => parseInt(line));

/** The most memory that a tab's process ever had, in MB; `others` are those of other browsers. */
function mostMemory(others) {
  return Math.max(...tabs().filter((pid) => !others.includes(pid)).map((pid) => {
    try {
      return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
    } catch {
      return 0;                     // it has ended meanwhile
    }
  }));
}

inBrowsers((start, browser) => {
  let site;
  before(async () => { site = await start(); });
  after(async () => { await site.stop(); });
  const linked = (name) => saved(site, () => site.page.click(`#saves a[download="${name}"]`));

  for (const [name, { file, specs }] of Object.entries(models)) {
    test(`${name} converts to the program's bytes`, async () => {
      const { page } = site;
      await open(page, needs(file));
      for (const spec of specs)
        await give(page, spec);
      assert.equal(await convert(page), 0);
      const [link] = await page.locator('#saves a').all();
      const bytes = await linked(await link.getAttribute('download'));
      assert.ok(bytes.equals(nativeModel(file, ...specs.flatMap((spec) => ['-i', spec]))), 'another model than the program writes');
    });
  }

  test('options reach the library', async () => {
    const { page } = site;
    await open(page, join(top, 'examples/digits_cnn.pt2'));
    await page.click('#options summary');
    await page.selectOption('[name=opset]', '13');
    await page.check('[name=keep-weights]');
    await page.selectOption('[name=weights]', 'external');
    assert.equal(await page.textContent('#command'), 'pt2onnx digits_cnn.pt2 --opset 13 --weights external --keep-weights');
    assert.equal(await convert(page), 0);
    assert.deepEqual(await page.locator('#saves a').evaluateAll((links) => links.map((a) => a.download)), ['digits_cnn.onnx', 'digits_cnn.onnx.data']);
    await page.selectOption('[name=weights]', 'inline');
    assert.equal(await convert(page), 0);
    assert.ok((await linked('digits_cnn.onnx')).equals(nativeModel(join(top, 'examples/digits_cnn.pt2'), '--opset=13', '--keep-weights')));
    await page.selectOption('[name=opset]', '18');
    await page.uncheck('[name=keep-weights]');
    await page.selectOption('[name=weights]', 'auto');
  });

  for (const file of [join(top, 'tests/cli/files/unsupported.pt'), join(top, 'tests/cli/files/state_dict.pt'), ...damaged(), ...hostile]) {
    test(`the error of ${file.split('/').pop()} is the program's`, async () => {
      const { page } = site;
      const native = commandLine(file);
      assert.notEqual(native.status, 0);
      await open(page, file);
      const status = await page.isVisible('#result') ? Number(await page.getAttribute('#result', 'data-status')) : await convert(page);
      assert.equal(status, native.status);
      const shown = (await page.textContent('#error')).trim();
      assert.ok(native.message.includes(`pt2onnx: ${shown}\n`), `${native.message}\n---- the page says:\n${shown}`);
      for (const line of await page.locator('#note-list li').allInnerTexts())
        assert.ok(native.message.includes(line.replace('\n', ': ')), line);
    });
  }

  test('the inputs that an error asks for go into the fields, and then it converts', async () => {
    const { page } = site;
    const file = needs(join(cache, 'wanted.pt'));
    const line = /the whole line: pt2onnx \S+ (-i .*)\n/.exec(commandLine(file).message)[1];
    await open(page, file);
    assert.equal(await convert(page), 1);
    assert.equal(await page.textContent('#wanted-specs'), line);
    await page.click('#fill');
    assert.ok((await page.textContent('#command')).endsWith(line), await page.textContent('#command'));
    assert.equal(await convert(page), 0);
    assert.ok(await page.isHidden('#wanted'));
    const specs = execSync(`printf '%s\\n' ${line}`, { encoding: 'utf8' }).trim().split('\n');
    assert.ok((await linked('wanted.onnx')).equals(nativeModel(file, ...specs)));
  });

  test('a conversion can be stopped, and the next one works', async () => {
    const { page } = site;
    await open(page, join(top, 'tests/hostile/list_diamond_eq.pt'));
    await page.click('#convert');
    await page.waitForSelector('#stop:not([hidden])');
    await page.waitForFunction(() => document.querySelector('#stage').textContent !== 'Converting');
    const workers = page.workers().length;
    await page.click('#stop');
    await page.waitForSelector('#stop', { state: 'hidden' });
    assert.equal(await page.textContent('#stage'), 'Stopped.');
    for (let i = 0; i < 50 && page.workers().length >= workers; i++)
      await new Promise((done) => setTimeout(done, 100));
    assert.ok(page.workers().length < workers, 'the worker lives on');
    await open(page, join(top, 'examples/digits_cnn.pt'));
    await give(page, 'x:float32[N,1,8,8]');
    assert.equal(await convert(page), 0);
  });

  test('5 GB convert in under 300 MB, as slices of the file', async () => {
    const others = tabs();
    const own = await start();
    try {
      const { page } = own;
      const path = needs(join(cache, 'large.pt'));
      await open(page, path);
      await give(page, 'input:float32[N,20000]');
      const begin = Date.now();
      assert.equal(await convert(page), 0);
      const seconds = (Date.now() - begin) / 1000;
      const most = mostMemory(others);
      console.log(`# ${browser}: 5.2 GB in ${seconds.toFixed(1)} s; the tab had ${most.toFixed(0)} MB at most`);
      assert.ok(most > 50 && most < 300, `${most} MB`);
      assert.ok(seconds < 10, `${seconds} s`);
      // The first and last bytes of both weights: the .data file has what the archive has.
      const [first, second] = JSON.parse(readFileSync(path.replace('.pt', '.json')));
      const read = (from, n) => page.evaluate(async ([at, size]) => {
        const { blob } = document.querySelector('#saves a[download$=".data"]');
        const begin = at < 0 ? blob.size + at : at;
        return [...new Uint8Array(await blob.slice(begin, begin + size).arrayBuffer())].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      }, [from, n]);
      assert.ok((await read(0, 8192)).includes(first.begin), 'the first weight begins otherwise');
      assert.ok((await read(-second.bytes - 8192, 8192)).includes(first.end), 'the first weight ends otherwise');
      assert.equal(await read(-second.bytes, 16), second.begin);
      assert.equal(await read(-16, 16), second.end);
    } finally {
      await own.stop();
    }
  });

  test('the page works after the first visit when there is no server any more', async () => {
    const own = await start();
    try {
      const { page } = own;
      await page.waitForFunction(async () => (await navigator.serviceWorker.ready).active?.state === 'activated');
      own.endServer();
      await page.reload();
      await page.waitForSelector('html[data-ready]');
      await page.click('#example');
      await page.waitForSelector('.input-row');
      assert.equal(await convert(page), 0);
      await page.waitForSelector('#tab-run:not([hidden])');
      await page.click('#tab-run');
      await page.click('#run form button.primary');
      await page.waitForSelector('#run .outputs section');
    } finally {
      await own.stop();
    }
  });

  test('nothing went wrong in the console', () => {
    assert.deepEqual(site.complaints, []);
  });
});
