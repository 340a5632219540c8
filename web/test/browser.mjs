// browser.mjs - what the tests share: the page in a real Chromium and a real Firefox, files dropped into it, and the program beside it.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium, firefox } from 'playwright-core';
import { serve } from '../serve.mjs';

export const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const cache = join(process.env.PT2ONNX_CACHE ?? join(top, '.cache'), 'web');
const program = join(process.env.PT2ONNX_BUILD ?? join(top, 'build'), 'pt2onnx');
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

// Debian's Firefox is driven by its own protocol, WebDriver BiDi: what the channel's name asks for. How dark the system is, it
// asks the system alone.
const launch = {
  Chromium: (options) => chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS, ...options }),
  Firefox: ({ dark, ...options }) => firefox.launch({
    executablePath: '/usr/bin/firefox-esr', channel: 'moz-firefox', firefoxUserPrefs: { 'ui.systemUsesDarkTheme': Number(dark) }, ...options,
  }),
};

/** The same tests in each browser: `tests` is called with its `start` and its name. */
export function inBrowsers(tests) {
  for (const name of Object.keys(launch))
    describe(name, () => tests((options) => start({ ...options, browser: name }), name));
}

/** A page, what it complained of, and the folder that takes what it saves. */
export async function start({ folder = join(top, 'web/dist'), browser: name = 'Chromium', ...options } = {}) {
  const server = await serve(folder, 0);
  const saves = mkdtempSync(join(tmpdir(), 'pt2onnx-'));
  const browser = await launch[name]({ downloadsPath: saves, dark: options.colorScheme === 'dark' });
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-GB', ...options });
  context.setDefaultTimeout(120000);                    // a laden machine is slow, not wrong
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  const address = `http://localhost:${server.address().port}/`;
  await page.goto(address);
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
  return { page, browser, context, address, complaints, saves, endServer, stop };
}

/** Give the page a file and wait until it knows what is in it, or says why not. */
export async function open(page, path) {
  await page.setInputFiles('#file', path);
  await page.waitForFunction((name) => document.querySelector('#file-name').textContent === name &&
    (!document.querySelector('#result').hidden || !document.querySelector('#tabs').hidden), basename(path));
}

/** Press Convert; the status that the library gave. */
export async function convert(page) {
  await page.click('#convert');
  await page.waitForSelector('#result:not([hidden])');
  await page.waitForSelector('#stop', { state: 'hidden' });
  return Number(await page.getAttribute('#result', 'data-status'));
}

/** Sizes as a SPEC has them, into the row of that input: "x:float32[N,3]". */
export async function give(page, spec) {
  const [, name, type, sizes] = /^([^:]+):(\w+)\[(.*)\]$/.exec(spec);
  const row = page.locator('.input-row', { has: page.locator(`code:text-is("${name}")`) });
  await row.locator('select').selectOption(type);
  await row.locator('[name=sizes]').fill(sizes || '[]');
}

/**
 * The bytes that `press` has the browser save. Of Firefox playwright reports no download of a blob; there is an empty file of that
 * name, and one that ends in .part, until all is there.
 */
export async function saved({ page, browser, saves }, press) {
  if (browser.browserType() === chromium) {
    const [download] = await Promise.all([page.waitForEvent('download'), press()]);
    return readFileSync(await download.path());
  }
  for (const name of readdirSync(saves))
    rmSync(join(saves, name));
  await press();
  for (let i = 0; i < 300; i++) {
    const files = readdirSync(saves);
    const bytes = files.length === 1 ? readFileSync(join(saves, files[0])) : '';
    if (bytes.length)
      return bytes;
    await sleep(100);
  }
  throw new Error(`nothing was saved: ${readdirSync(saves)}`);
}

/** What the program says and returns for a file, in that file's folder, as the page has it. */
export function commandLine(path, ...options) {
  const ran = spawnSync(program, [basename(path), ...options], { cwd: dirname(path), encoding: 'utf8' });
  return { status: ran.status, message: ran.stderr };
}

export function nativeModel(path, ...options) {
  return execFileSync(program, [path, '-q', '-o', '-', ...options], { maxBuffer: 2 ** 30 });
}

export function needs(path) {
  if (!existsSync(path))
    throw new Error(`${path} is missing: make web-test makes it`);
  return path;
}
