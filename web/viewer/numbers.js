// numbers.js - the numbers of a weight, read from the Blob a piece at a time: range, mean, histogram, the first few.
import { elements } from './onnx.js';

const PIECE = 1 << 20;
export const BINS = 40;
const MOST = 1 << 24;               // numbers that are looked at; of a larger weight the first ones

function half(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31)
    return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

function brain(bits) {
  floatBits[0] = bits << 16;
  return float[0];
}

/** How `raw` numbers of a type are read: [bytes each, reader]. */
const RAW = {
  float32: [4, (v, at) => v.getFloat32(at, true)],
  float64: [8, (v, at) => v.getFloat64(at, true)],
  float16: [2, (v, at) => half(v.getUint16(at, true))],
  bfloat16: [2, (v, at) => brain(v.getUint16(at, true))],
  int8: [1, (v, at) => v.getInt8(at)],
  uint8: [1, (v, at) => v.getUint8(at)],
  bool: [1, (v, at) => v.getUint8(at)],
  int16: [2, (v, at) => v.getInt16(at, true)],
  uint16: [2, (v, at) => v.getUint16(at, true)],
  int32: [4, (v, at) => v.getInt32(at, true)],
  uint32: [4, (v, at) => v.getUint32(at, true)],
  int64: [8, (v, at) => Number(v.getBigInt64(at, true))],
  uint64: [8, (v, at) => Number(v.getBigUint64(at, true))],
};

/** Numbers that onnx.proto keeps as lists. */
const LISTS = { float: RAW.float32, double: RAW.float64 };

function varints(view) {
  const numbers = [];
  for (let at = 0; at < view.byteLength;) {
    let value = 0n;
    for (let shift = 0n; at < view.byteLength; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128)
        break;
    }
    numbers.push(Number(BigInt.asIntN(64, value)));
  }
  return numbers;
}

/** The Blob and ranges that a tensor's bytes are in; null when they are not at hand. */
function placesOf(tensor, blob, beside) {
  if (tensor.external) {
    const data = beside(tensor.external.location);
    if (!data)
      return null;
    const length = tensor.external.length < 0 ? data.size - tensor.external.offset : tensor.external.length;
    return { blob: data, encoding: 'raw', ranges: [{ at: tensor.external.offset, length }] };
  }
  return tensor.data && blob && { blob, ...tensor.data };
}

/** Its numbers, piece by piece; at most `most`. Null: they cannot be read here. */
async function* pieces(tensor, places, most) {
  const decode = places.encoding === 'raw' ? RAW[tensor.dtype] : LISTS[places.encoding];
  let left = Math.min(most, elements(tensor.dims));
  for (const range of places.ranges) {
    for (let at = 0; at < range.length && left > 0; at += PIECE) {
      const slice = places.blob.slice(range.at + at, range.at + Math.min(range.length, decode ? at + PIECE : range.length));
      const view = new DataView(await slice.arrayBuffer());
      let numbers = [];
      if (decode)
        for (let i = 0; i + decode[0] <= view.byteLength; i += decode[0])
          numbers.push(decode[1](view, i));
      else
        numbers = varints(view);
      yield numbers.slice(0, left);
      left -= numbers.length;
      if (!decode)
        break;
    }
  }
}

export function readable(tensor, blob, beside) {
  const places = placesOf(tensor, blob, beside);
  if (!places || (places.encoding === 'raw' && !RAW[tensor.dtype]) || places.encoding === 'string')
    return null;
  return places;
}

/** The first numbers, for a small constant. */
export async function firstNumbers(tensor, places, most) {
  const found = [];
  for await (const numbers of pieces(tensor, places, most))
    found.push(...numbers);
  return found;
}

/** { count, low, high, mean, deviation, zeros, nans, bins }: two walks, the second for the histogram. */
export async function describe(tensor, places, wanted = () => true) {
  const about = { count: 0, all: elements(tensor.dims), low: Infinity, high: -Infinity, mean: 0, deviation: 0, zeros: 0, nans: 0, bins: new Array(BINS).fill(0) };
  let squares = 0;
  for await (const numbers of pieces(tensor, places, MOST)) {
    if (!wanted())
      return null;
    for (const x of numbers) {
      about.count++;
      about.zeros += x === 0;
      if (!Number.isFinite(x)) {
        about.nans++;
        continue;
      }
      about.low = Math.min(about.low, x);
      about.high = Math.max(about.high, x);
      const finite = about.count - about.nans;
      const step = x - about.mean;
      about.mean += step / finite;
      squares += step * (x - about.mean);
    }
  }
  about.deviation = Math.sqrt(squares / Math.max(1, about.count - about.nans));
  const width = (about.high - about.low) / BINS;
  for await (const numbers of pieces(tensor, places, MOST)) {
    if (!wanted())
      return null;
    for (const x of numbers)
      if (Number.isFinite(x))
        about.bins[width ? Math.min(BINS - 1, Math.floor((x - about.low) / width)) : 0]++;
  }
  return about;
}

export function numberText(x) {
  if (Number.isInteger(x) && Math.abs(x) < 1e9)
    return String(x);
  const [small, large] = [Math.abs(x) < 1e-4, Math.abs(x) >= 1e6];
  return small || large ? x.toExponential(3) : String(Number(x.toPrecision(5)));
}
