// index.js - pt2onnx for Node: see index.d.ts. Files are read and written a piece at a time: weights never are in memory,
// unless the model is given as bytes or asked for as a Blob.
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { ConversionError, pairsOf } from './options.js';
import { run } from './program.js';

export { ConversionError };

/** The path of a model, which is written into `folder` first when it is no file. */
async function pathOf(model, folder) {
  if (typeof model === 'string') return resolve(model);
  if (model instanceof URL) return fileURLToPath(model);
  const path = join(folder, basename(model.name ?? 'model.pt'));
  if (model instanceof Blob) await pipeline(Readable.fromWeb(model.stream()), createWriteStream(path));
  else await writeFile(path, ArrayBuffer.isView(model) ? model : new Uint8Array(model));
  return path;
}

/** Calls work(folder) with an empty folder that is gone afterwards. */
async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'pt2onnx-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function wordsOf(options) {
  const words = pairsOf(options).map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`));
  return [...words, ...(options.more ?? [])];
}

/** The program with --json: its answer, or the error that it tells. */
async function ask(words, signal) {
  const { exit, stdout, stderr } = await run(['--json', ...words], { capture: true, signal });
  let said;
  try {
    said = JSON.parse(stdout);
  } catch {
    // A wrong option is told before there is a model to tell it of.
    throw new ConversionError(stderr.trim() || stdout, exit === 2 ? 'usage' : 'bug');
  }
  if (exit !== 0) throw new ConversionError(said.error, said.status, said.notes);
  return said;
}

async function blobs(folder) {
  const names = (await readdir(folder)).sort();
  return Promise.all(names.map(async (name) => ({ name, blob: new Blob([await readFile(join(folder, name))]) })));
}

export function convert(model, options = {}) {
  return inFolder(async (folder) => {
    const path = await pathOf(model, folder);
    const results = await mkdtemp(join(folder, 'out-'));
    const to = options.output === undefined ? join(results, basename(path).replace(/\.[^.]*$/, '') + '.onnx') : pathOfOutput(options.output);
    const { bytes, nodes, opset, seconds, notes } = await ask([...wordsOf(options), `--output=${to}`, path], options.signal);
    return { bytes, nodes, opset, seconds, notes, files: options.output === undefined ? await blobs(results) : [] };
  });
}

function pathOfOutput(output) {
  return output instanceof URL ? fileURLToPath(output) : resolve(output);
}

export function check(model, options = {}) {
  return inFolder(async (folder) => {
    const { seconds, notes } = await ask(['check', ...wordsOf(options), await pathOf(model, folder)], options.signal);
    return { seconds, notes };
  });
}

export function show(model, options = {}) {
  return inFolder(async (folder) => ask(['show', ...wordsOf(options), await pathOf(model, folder)], options.signal));
}
