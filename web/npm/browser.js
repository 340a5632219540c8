// browser.js - pt2onnx in a page, for bundlers: see index.d.ts. The library is WebAssembly in a worker of its own; what is
// converted is a list of slices of the Blob that was given, so weights never are in memory.
import { ConversionError, pairsOf } from './options.js';

export { ConversionError };

const STATUS = ['ok', 'cannot_convert', 'usage', 'unreadable', 'bug'];

let compiled = null;

// The WebAssembly, compiled once and given to each worker.
function library() {
  compiled ??= fetch(new URL('./pt2onnx.wasm', import.meta.url)).then(async (response) => {
    if (!response.ok) throw new Error(`pt2onnx.wasm: ${response.status}`);
    return WebAssembly.compile(await response.arrayBuffer());
  }).catch((error) => {
    compiled = null;
    throw error;
  });
  return compiled;
}

async function blobOf(model) {
  if (model instanceof Blob) return model;
  if (typeof model === 'string' || model instanceof URL) {
    const response = await fetch(model);
    if (!response.ok) throw new Error(`${model}: ${response.status}`);
    return response.blob();
  }
  return new Blob([model]);
}

function nameOf(model) {
  if (typeof model === 'string' || model instanceof URL) return new URL(model, 'http://localhost').pathname.split('/').pop() || 'model.pt';
  return model.name ?? 'model.pt';
}

async function call(action, model, options) {
  const { signal } = options;
  signal?.throwIfAborted();
  if (options.output !== undefined || options.more !== undefined) throw new TypeError('output and more are options of Node: a page gets Blobs');
  const [module, file] = await Promise.all([library(), blobOf(model)]);
  const worker = new Worker(new URL('./convert-worker.js', import.meta.url), { type: 'module' });
  const notes = [];
  try {
    const done = await new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      worker.onerror = (event) => reject(new TypeError(event.message || 'the worker failed'));
      worker.onmessage = ({ data }) => {
        if (data.type === 'note') notes.push({ kind: data.kind, text: data.text });
        if (data.type === 'done') resolve(data);
      };
      const words = pairsOf(options).map(([name, value]) => [name, value === true ? '1' : value]);
      worker.postMessage({ module, file, name: nameOf(model), action, options: words });
    });
    if (done.status !== 0) throw new ConversionError(done.message, STATUS[done.status], notes);
    return { ...done, notes };
  } finally {
    worker.terminate();
  }
}

export async function convert(model, options = {}) {
  const { files, notes, milliseconds } = await call('convert', model, options);
  return { bytes: files.reduce((n, { blob }) => n + blob.size, 0), seconds: milliseconds / 1000, notes, files };
}

export async function check(model, options = {}) {
  const { notes, milliseconds } = await call('check', model, options);
  return { seconds: milliseconds / 1000, notes };
}

export async function show(model, options = {}) {
  return JSON.parse((await call('show', model, { ...options, showJson: true })).text);
}
