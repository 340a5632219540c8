#!/usr/bin/env node
// bin.js - `npx pt2onnx model.pt`: the program, with all of its options. A signal leaves no unfinished file.
import { constants } from 'node:os';
import { run } from './program.js';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(name, () => stop.abort(name));
try {
  process.exitCode = (await run(process.argv.slice(2), { signal: stop.signal })).exit;
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(`pt2onnx: ${error.message}`);
    process.exitCode = 4;
  } else {
    process.exitCode = 128 + constants.signals[stop.signal.reason];
  }
}
