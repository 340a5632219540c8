// program.js - the program pt2onnx as WebAssembly, each call of it in a thread of its own, on the files of the system.
import { readFile, rm } from 'node:fs/promises';
import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads';

let compiled = null;

function program() {
  compiled ??= readFile(new URL('./pt2onnx-node.wasm', import.meta.url)).then((bytes) => WebAssembly.compile(bytes));
  return compiled;
}

/**
 * @param {string[]} words what stands behind `pt2onnx` on a command line
 * @param {{ capture?: boolean, signal?: AbortSignal }} how capture: what it prints is returned, else it goes where the process's goes
 * @returns {Promise<{ exit: number, stdout: string, stderr: string }>} a signal ends the thread, removes what is unfinished, and rejects
 */
export async function run(words, { capture = false, signal } = {}) {
  signal?.throwIfAborted();
  const module = await program();
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL('./thread.cjs', import.meta.url),
    { workerData: { module, words, capture, port: port2 }, transferList: [port2], execArgv: [] });
  const unfinished = new Set();
  const printed = { 1: [], 2: [] };
  let exit = 4;
  const listen = (said) => {
    if (said.exit !== undefined) exit = said.exit;
    if (said.made !== undefined) unfinished.add(said.made);
    if (said.gone !== undefined) unfinished.delete(said.gone);
    if (said.bytes !== undefined) printed[said.to].push(said.bytes);
  };
  port1.on('message', listen);
  const stop = () => worker.terminate();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('exit', resolve);
    });
    for (let left = receiveMessageOnPort(port1); left; left = receiveMessageOnPort(port1))
      listen(left.message);
    if (signal?.aborted)
      throw signal.reason;
    return { exit, stdout: Buffer.concat(printed[1]).toString(), stderr: Buffer.concat(printed[2]).toString() };
  } finally {
    signal?.removeEventListener('abort', stop);
    port1.close();
    await Promise.all([...unfinished].map((path) => rm(path, { force: true })));
  }
}
