// library.js - calls of the library, each in a worker of its own. See convert-worker.js for what passes between.

let compiled = null;

// The WebAssembly, compiled once and given to each worker.
function library() {
  compiled ??= fetch('pt2onnx.wasm').then(async (response) => {
    if (!response.ok)
      throw new Error(`pt2onnx.wasm: ${response.status}`);
    return WebAssembly.compile(await response.arrayBuffer());
  }).catch((error) => {
    compiled = null;
    throw error;
  });
  return compiled;
}

export class Stopped extends Error {}

/**
 * One call: 'convert' or 'show'.
 * @param {'convert' | 'show'} action
 * @param {Blob} file
 * @param {string} name what messages call the file
 * @param {[string, string][]} options in the words of the command line
 * @param {{note?: Function, progress?: Function, signal?: AbortSignal}} told
 */
export async function call(action, file, name, options, told = {}) {
  const module = await library();
  if (told.signal?.aborted)
    throw new Stopped();
  const worker = new Worker('convert-worker.js', { type: 'module' });
  try {
    return await new Promise((resolve, reject) => {
      told.signal?.addEventListener('abort', () => reject(new Stopped()));
      worker.onerror = (event) => reject(new Error(event.message || 'the worker failed'));
      worker.onmessage = ({ data }) => {
        if (data.type === 'note')
          told.note?.(data.kind, data.text);
        else if (data.type === 'progress')
          told.progress?.(data.stage, data.share);
        else if (data.type === 'done')
          resolve(data);
        else
          console.log(data.text);
      };
      worker.postMessage({ module, file, name, action, options });
    });
  } finally {
    worker.terminate();
  }
}
