// Convert a model from Node; Ctrl-C or 60 seconds end it:
//
//     node convert.mjs net.pt net.onnx 'x:float32[N,3,224,224]'

import { convert, ConversionError } from './pt2onnx.mjs';

const [model, output, ...inputs] = process.argv.slice(2);
if (output === undefined) {
  console.error('usage: node convert.mjs MODEL OUT.onnx [SPEC..]');
  process.exit(2);
}
try {
  const done = await convert(model, output, { inputs, signal: AbortSignal.timeout(60_000) });
  for (const note of done.notes) console.error(`${model}: ${note.kind}: ${note.text}`);
  console.log(`${done.output}: ${done.bytes} bytes, ${done.seconds} s`);
} catch (error) {
  if (error instanceof ConversionError) for (const note of error.notes) console.error(`${model}: ${note.kind}: ${note.text}`);
  console.error(error.message);
  process.exitCode = { cannot_convert: 1, usage: 2, bug: 4 }[error.status] ?? 3;
}
