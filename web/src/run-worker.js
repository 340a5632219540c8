// run-worker.js - ONNX Runtime in a worker of its own: one session. It is sent { kind: 'load', model, data } and then
// { kind: 'run', feeds }; what it posts has the same ticket. Whoever wants to stop a run ends the worker.

// The memory that ONNX Runtime works in, to be able to say how large it became.
let memory = null;
const Memory = WebAssembly.Memory;
WebAssembly.Memory = function (descriptor) {
  memory = new Memory(descriptor);
  return memory;
};
WebAssembly.Memory.prototype = Memory.prototype;

const library = import('onnxruntime-web/wasm');
let session = null;

async function load({ model, data }) {
  const ort = await library;
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = { wasm: new URL('ort-wasm-simd-threaded.wasm', location.href).href };
  const externalData = await Promise.all(data.map(async ({ name, blob }) => ({ path: name, data: new Uint8Array(await blob.arrayBuffer()) })));
  const start = performance.now();
  session = await ort.InferenceSession.create(new Uint8Array(await model.arrayBuffer()), { executionProviders: ['wasm'], externalData });
  return { milliseconds: performance.now() - start, outputs: session.outputNames };
}

async function run({ feeds }) {
  const ort = await library;
  const tensors = Object.fromEntries(Object.entries(feeds).map(([name, { type, dims, data }]) => [name, new ort.Tensor(type, data, dims)]));
  const start = performance.now();
  const results = await session.run(tensors);
  const milliseconds = performance.now() - start;
  const outputs = Object.entries(results).map(([name, value]) => ({ name, type: value.type, dims: value.dims, data: value.data }));
  return { milliseconds, outputs };
}

onmessage = async ({ data: { ticket, kind, ...request } }) => {
  try {
    const answer = kind === 'load' ? await load(request) : await run(request);
    postMessage({ ticket, ...answer, memory: memory?.buffer.byteLength ?? 0 });
  } catch (error) {
    postMessage({ ticket, error: String(error?.message ?? error) });
  }
};
