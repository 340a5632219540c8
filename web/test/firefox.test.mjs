// firefox.test.mjs - the page in Debian's Firefox, driven by its own protocol, WebDriver BiDi: files are converted, run and
// stopped as in Chromium, 5 GB in the memory of the graph, and without a server after the first visit.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { cache, commandLine, nativeModel, needs, top } from './browser.mjs';
import { serve } from '../serve.mjs';
import { readNpy } from '../src/tensors.js';

const LONG = { timeout: 120000 };
const digits = join(top, 'examples/digits_cnn.pt2');

/** Firefox with a profile of its own, and the page in it; downloads go into the folder `saves`. */
async function start() {
  const server = await serve(join(top, 'web/dist'), 0);
  const saves = mkdtempSync(join(tmpdir(), 'pt2onnx-'));
  const browser = await puppeteer.launch({
    browser: 'firefox', executablePath: '/usr/bin/firefox-esr', headless: true, defaultViewport: { width: 1280, height: 860 },
    extraPrefsFirefox: { 'browser.download.folderList': 2, 'browser.download.dir': saves, 'intl.accept_languages': 'en-GB' },
  });
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(`http://localhost:${server.address().port}/`);
  await page.waitForSelector('html[data-ready]');
  const endServer = () => {
    server.closeAllConnections();
    server.close();
  };
  const stop = async () => {
    await browser.close();
    endServer();
    rmSync(saves, { recursive: true });
  };
  return { browser, page, saves, complaints, endServer, stop };
}

let site;
before(async () => { site = await start(); });
after(async () => { await site.stop(); });

// ---- what a person does ----

async function upload(page, selector, path) {
  const field = await page.$(selector);
  await field.uploadFile(path);
}

async function open(page, path) {
  await upload(page, '#file', path);
  await page.waitForFunction((name) => document.querySelector('#file-name').textContent === name &&
    (!document.querySelector('#result').hidden || !document.querySelector('#tabs').hidden), LONG, basename(path));
}

async function press(page, selector) {
  await page.locator(selector).click();
}

async function give(page, spec) {
  const [, name, type, sizes] = /^([^:]+):(\w+)\[(.*)\]$/.exec(spec);
  const at = await page.$$eval('.input-row', (rows, name) => rows.findIndex((row) => row.querySelector('code').textContent === name), name);
  await page.locator(`.input-row:nth-of-type(${at + 1}) select`).fill(type);
  await page.locator(`.input-row:nth-of-type(${at + 1}) [name=sizes]`).fill(sizes || '[]');
}

async function convert(page) {
  await press(page, '#convert');
  await page.waitForSelector('#result:not([hidden])', LONG);
  await page.waitForSelector('#stop[hidden]', LONG);
  return Number(await page.$eval('#result', (result) => result.dataset.status));
}

/** Press the link that saves; what lies on the disk then. */
async function saved({ page, saves }) {
  const name = await page.$eval('#saves a', (link) => link.download);
  const size = await page.$eval('#saves a', (link) => link.blob.size);
  rmSync(join(saves, name), { force: true });
  await press(page, '#saves a');
  for (let i = 0; i < 300; i++) {
    const there = existsSync(join(saves, name)) && !readdirSync(saves).some((file) => file.endsWith('.part'));
    if (there && readFileSync(join(saves, name)).length === size)
      return readFileSync(join(saves, name));
    await sleep(100);
  }
  throw new Error(`Firefox saved no ${name} of ${size} bytes: ${readdirSync(saves)}`);
}

/** Press Run; the outputs. */
async function run(page) {
  await press(page, '#run form button.primary');
  await page.waitForSelector('#run .outputs > *', LONG);
  assert.ok(await page.$('#run .outputs section'), await page.$eval('#run .outputs', (outputs) => outputs.innerText));
  return page.$eval('#run .outputs', (e) => e.outputs.map(({ dims, data }) => ({ dims: [...dims], data: Array.from(data, Number) })));
}

// ---- the tests ----

async function compare(name, found, i) {
  const wanted = await readNpy(new Blob([readFileSync(needs(join(cache, name, `out${i}.npy`)))]));
  assert.deepEqual(found.dims, wanted.dims);
  const numbers = Array.from(wanted.data, Number);
  const most = numbers.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
  const off = numbers.reduce((a, x, k) => Math.max(a, Math.abs(x - found.data[k])), 0);
  console.log(`# Firefox, ${name}, output ${i}: off by ${(off / most).toExponential(1)} of the largest`);
  assert.ok(most > 0 && off <= 1e-4 * most, `${off} of ${most}`);
}

const models = JSON.parse(readFileSync(needs(join(cache, 'models.json'))));
for (const [name, { file, specs, inputs, outputs }] of Object.entries(models)) {
  test(`Firefox: ${name} converts to the program's bytes and gives PyTorch's numbers`, async () => {
    const { page } = site;
    await open(page, needs(file));
    for (const spec of specs)
      await give(page, spec);
    assert.equal(await convert(page), 0);
    assert.ok((await saved(site)).equals(nativeModel(file, ...specs.flatMap((spec) => ['-i', spec]))), 'another model than the program writes');
    await page.waitForSelector('#tab-run:not([hidden])', LONG);
    await press(page, '#tab-run');
    for (let i = 0; i < inputs; i++) {
      const row = `.run-input:nth-of-type(${i + 1})`;
      await page.locator(`${row} select`).fill('npy');
      await page.waitForSelector(`${row} input[type=file]`);
      await upload(page, `${row} input[type=file]`, join(cache, name, `in${i}.npy`));
    }
    const found = await run(page);
    assert.equal(found.length, outputs);
    for (let i = 0; i < outputs; i++)
      await compare(name, found[i], i);
  });
}

for (const file of ['tests/cli/files/unsupported.pt', 'tests/hostile/cyc_loop.pt'].map((name) => join(top, name))) {
  test(`Firefox: the error of ${basename(file)} is the program's`, async () => {
    const { page } = site;
    const native = commandLine(file);
    await open(page, file);
    const over = await page.$('#result:not([hidden])');
    const status = over ? Number(await page.$eval('#result', (result) => result.dataset.status)) : await convert(page);
    assert.ok(status !== 0 && status === native.status, `${status}, not ${native.status}`);
    const shown = (await page.$eval('#error', (error) => error.textContent)).trim();
    assert.ok(native.message.includes(`pt2onnx: ${shown}\n`), `${native.message}\n---- the page says:\n${shown}`);
  });
}

test('Firefox: a drawn 7 is read as 7', async () => {
  const { page } = site;
  await open(page, digits);
  assert.equal(await convert(page), 0);
  await page.waitForSelector('#tab-run:not([hidden])', LONG);
  await press(page, '#tab-run');
  const paper = await (await page.waitForSelector('.paper')).boundingBox();
  const [first, ...rest] = [[60, 50], [160, 50], [150, 90], [120, 150], [100, 195]].map(([x, y]) => [paper.x + x, paper.y + y]);
  await page.mouse.move(...first);
  await page.mouse.down();
  for (const point of rest)
    await page.mouse.move(...point, { steps: 6 });
  await page.mouse.up();
  await page.waitForFunction(() => document.querySelector('.guess').textContent === '7', { timeout: 20000 });
});

test('Firefox: a conversion can be stopped, and the next one works', async () => {
  const { page } = site;
  await open(page, join(top, 'tests/hostile/list_diamond_eq.pt'));
  await press(page, '#convert');
  await page.waitForSelector('#stop:not([hidden])');
  await page.waitForFunction(() => document.querySelector('#stage').textContent !== 'Converting', LONG);
  const workers = page.workers().length;
  await press(page, '#stop');
  await page.waitForSelector('#stop[hidden]');
  assert.equal(await page.$eval('#stage', (stage) => stage.textContent), 'Stopped.');
  for (let i = 0; i < 100 && page.workers().length >= workers; i++)
    await sleep(100);
  assert.ok(page.workers().length < workers, 'the worker lives on');
  await open(page, digits);
  assert.equal(await convert(page), 0);
});

/** Most memory that a process of this browser's tabs ever had, in MB: those below its main process. */
function mostMemory(parent) {
  const status = (pid) => {
    try {
      return readFileSync(`/proc/${pid}/status`, 'utf8');
    } catch {
      return '';                    // it has ended meanwhile
    }
  };
  const number = (text, field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  const all = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).map((pid) => [Number(pid), status(pid)]);
  const below = new Set([parent]);
  for (let before = 0; before < below.size;) {
    before = below.size;
    for (const [pid, text] of all)
      if (below.has(number(text, 'PPid')))
        below.add(pid);
  }
  return Math.max(...all.filter(([pid, text]) => below.has(pid) && /^Name:\s+(Isolated|Web Co)/m.test(text)).map(([, text]) => number(text, 'VmHWM') / 1024));
}

test('Firefox: 5 GB convert as slices of the file', async () => {
  const own = await start();
  try {
    const { page, browser } = own;
    const path = needs(join(cache, 'large.pt'));
    await open(page, path);
    await give(page, 'input:float32[N,20000]');
    const begin = Date.now();
    assert.equal(await convert(page), 0);
    const seconds = (Date.now() - begin) / 1000;
    const most = mostMemory(browser.process().pid);
    console.log(`# Firefox: 5.2 GB in ${seconds.toFixed(1)} s; the tab had ${most.toFixed(0)} MB at most`);
    assert.ok(most > 50 && most < 300, `${most} MB`);
    assert.ok(seconds < 10, `${seconds} s`);
    const [, second] = JSON.parse(readFileSync(path.replace('.pt', '.json')));
    const end = await page.$eval('#saves a[download$=".data"]', async ({ blob }) =>
      [...new Uint8Array(await blob.slice(-16).arrayBuffer())].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
    assert.equal(end, second.end);
  } finally {
    await own.stop();
  }
});

test('Firefox: the page works after the first visit when there is no server any more', async () => {
  const own = await start();
  try {
    const { page } = own;
    await page.waitForFunction(async () => (await navigator.serviceWorker.ready).active?.state === 'activated', LONG);
    own.endServer();
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    await press(page, '#example');
    await page.waitForSelector('.input-row');
    assert.equal(await convert(page), 0);
    await page.waitForSelector('#tab-run:not([hidden])', LONG);
    await press(page, '#tab-run');
    assert.deepEqual((await run(page))[0].dims.slice(-1), [10]);
  } finally {
    await own.stop();
  }
});

test('Firefox: nothing went wrong in the console', () => {
  assert.deepEqual(site.complaints, []);
});
