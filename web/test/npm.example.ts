// npm.example.ts - the npm package as a program in TypeScript uses it: npm.test.mjs has tsc look at it, and runs it.
import { check, convert, ConversionError, show, type Note, type Options } from 'pt2onnx';

export async function example(model: string, output: string): Promise<string[]> {
  const options: Options = { inputs: ['x:float32[N,1,8,8]'], opset: 17, keepWeights: true, signal: AbortSignal.timeout(60_000) };
  const { bytes, files, notes } = await convert(model, { ...options, output });
  const { kind }: Pick<Note, 'kind'> = (await check(model)).notes[0];
  try {
    await convert(new Uint8Array(4));
  } catch (error) {
    if (error instanceof ConversionError && error.status === 'unreadable') return [String(bytes), String(files.length), String(notes.length), kind, String((await show(model)).kind)];
  }
  throw new TypeError('four bytes have been converted');
}

// @ts-expect-error: a target that is none
export const wrong: Options = { target: "tensorrt" };
