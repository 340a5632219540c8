// thread.cjs - one call of the program, in a thread that ends with it. program.js starts it.
const fs = require('node:fs');
const path = require('node:path');
const tty = require('node:tty');
const { workerData: { module: compiled, words, capture, port } } = require('node:worker_threads');
const createProgram = require('./pt2onnx-node.cjs');

const O_CREAT = 0o100;
const OUTPUTS = [1, 2];

// Standard output and error: to whoever called, or to the process's, which takes no more for a while when it is a full pipe.
const { writeSync } = fs;
fs.writeSync = (to, bytes, from, n, ...more) => {
  if (capture && OUTPUTS.includes(to)) {
    port.postMessage({ to, bytes: Buffer.from(bytes.subarray(from, from + n)) });
    return n;
  }
  for (;;) {
    try {
      return writeSync(to, bytes, from, n, ...more);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
};

// The program closes its streams as it ends, and these are the process's.
const { closeSync } = fs;
fs.closeSync = (file) => {
  if (file > Math.max(...OUTPUTS)) closeSync(file);
};

/** Tells which files have been begun and are not finished, for whoever ends this thread. */
function report(FS) {
  const { open, rename, unlink } = FS;
  const say = (what, name) => port.postMessage({ [what]: path.resolve(name) });
  FS.open = (name, flags, ...more) => {
    const isNew = (flags & O_CREAT) && !fs.existsSync(name);
    if (isNew) say('made', name);
    return open(name, flags, ...more);
  };
  FS.rename = (from, to) => {
    rename(from, to);
    say('gone', from);
  };
  FS.unlink = (name) => {
    unlink(name);
    say('gone', name);
  };
}

createProgram({
  instantiateWasm(imports, done) {
    done(new WebAssembly.Instance(compiled, imports), compiled);
    return {};
  },
  quit(status, how) {
    throw how;              // callMain returns then
  },
  preRun: [({ ENV }) => Object.assign(ENV, process.env)],
}).then((program) => {
  for (const stream of [0, ...OUTPUTS])
    program.FS.getStream(stream).tty = tty.isatty(stream) && !(capture && stream);
  report(program.FS);
  port.postMessage({ exit: program.callMain(words) });
});
