// pt2onnx.mjs - convert saved PyTorch programs to ONNX from Node, with the program `pt2onnx` as a child process.
//
// Why the program: nothing is compiled for a version of Node, the event loop goes on while a model converts, an
// AbortSignal ends it, weights are copied by the kernel and never are in Node's memory, and the file of a stranger is
// read in a process that has a sandbox. For a page in a browser there is the library as WebAssembly (docs/web.md).

import { execFile } from 'node:child_process';
import path from 'node:path';

/** What pt2onnx says of a model that it does not convert. */
export class ConversionError extends Error {
  name = 'ConversionError';

  /**
   * @param {string} message
   * @param {'cannot_convert' | 'usage' | 'unreadable' | 'bug'} status
   * @param {Note[]} notes what was assumed before may explain it
   */
  constructor(message, status, notes) {
    super(message);
    this.status = status;
    this.notes = notes;
  }
}

/**
 * @typedef {{ kind: 'assumed' | 'added' | 'dropped' | 'changed' | 'info', text: string }} Note
 * @typedef {{ output: string, bytes: number, seconds: number, notes: Note[] }} Result
 *
 * @typedef {object} Options
 * @property {string[]} [inputs] 'x:float32[N,3,224,224]', as `pt2onnx -i` has them
 * @property {number} [opset] 9 to 28
 * @property {string[]} [more] other options of `pt2onnx --help`: ['--weights-type', 'float16']
 * @property {AbortSignal} [signal] ends the conversion; no output is left then
 * @property {string} [program] where pt2onnx is; else the variable PT2ONNX names it, or it is on the PATH
 */

/**
 * Converts the file `model` and writes `output`. Any number may run at once: each is a process.
 *
 * @param {string} model
 * @param {string} output
 * @param {Options} [options]
 * @returns {Promise<Result>} or a ConversionError, an AbortError, or the error of starting the program
 */
export function convert(model, output, { inputs = [], opset, more = [], signal, program } = {}) {
  const words = ['--json', ...more];
  for (const spec of inputs) words.push('--input', spec);
  if (opset !== undefined) words.push('--opset', String(opset));
  // Whole paths: none of them is taken for an option or a command.
  words.push('--output', path.resolve(output), path.resolve(model));
  return new Promise((resolve, reject) => {
    const settings = { signal, maxBuffer: 64 << 20, encoding: 'utf8' };
    execFile(program ?? process.env.PT2ONNX ?? 'pt2onnx', words, settings, (error, stdout, stderr) => {
      // An exit code is a number. Anything else, such as ENOENT, a signal or an abort, is no answer of pt2onnx.
      if (error && typeof error.code !== 'number') return reject(error);
      let said;
      try {
        said = JSON.parse(stdout);
      } catch {
        // A wrong option is told before there is a model to tell it of.
        return reject(new ConversionError(stderr.trim() || stdout, error?.code === 2 ? 'usage' : 'bug', []));
      }
      if (said.status !== 'ok') return reject(new ConversionError(said.error, said.status, said.notes));
      const { output, bytes, seconds, notes } = said;
      resolve({ output, bytes, seconds, notes });
    });
  });
}
