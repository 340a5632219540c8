// browser.mjs - what the tests share: the page in a real Chromium, files dropped into it, and the program beside it.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from '../serve.mjs';

export const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const cache = join(process.env.PT2ONNX_CACHE ?? join(top, '.cache'), 'web');
const program = join(process.env.PT2ONNX_BUILD ?? join(top, 'build'), 'pt2onnx');
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

/** A page, and what it complained of. */
export async function start({ folder = join(top, 'web/dist'), ...options } = {}) {
  const server = await serve(folder, 0);
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-GB', ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  const address = `http://localhost:${server.address().port}/`;
  await page.goto(address);
  await page.waitForSelector('html[data-ready]');
  const stop = async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
  };
  return { page, browser, context, address, complaints, stop };
}

/** Give the page a file and wait until it knows what is in it, or says why not. */
export async function open(page, path) {
  await page.setInputFiles('#file', path);
  await page.waitForFunction((name) => document.querySelector('#file-name').textContent === name &&
    (!document.querySelector('#result').hidden || !document.querySelector('#tabs').hidden), basename(path), { timeout: 60000 });
}

/** Press Convert; the status that the library gave. */
export async function convert(page, timeout = 60000) {
  await page.click('#convert');
  await page.waitForSelector('#result:not([hidden])', { timeout });
  await page.waitForSelector('#stop', { state: 'hidden', timeout });
  return Number(await page.getAttribute('#result', 'data-status'));
}

/** Sizes as a SPEC has them, into the row of that input: "x:float32[N,3]". */
export async function give(page, spec) {
  const [, name, type, sizes] = /^([^:]+):(\w+)\[(.*)\]$/.exec(spec);
  const row = page.locator('.input-row', { has: page.locator(`code:text-is("${name}")`) });
  await row.locator('select').selectOption(type);
  await row.locator('[name=sizes]').fill(sizes || '[]');
}

/** The bytes that a link of the page saves. */
export async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(`#saves a[download="${name}"]`)]);
  return readFileSync(await download.path());
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
