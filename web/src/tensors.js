// tensors.js - values for inputs: their types as typed arrays, random and typed numbers, .npy files, images.

// ONNX Runtime's name of a type -> [array, numpy's descr]
export const ARRAYS = {
  float32: [Float32Array, '<f4'], float64: [Float64Array, '<f8'], int64: [BigInt64Array, '<i8'], uint64: [BigUint64Array, '<u8'],
  int32: [Int32Array, '<i4'], uint32: [Uint32Array, '<u4'], int16: [Int16Array, '<i2'], uint16: [Uint16Array, '<u2'],
  int8: [Int8Array, '|i1'], uint8: [Uint8Array, '|u1'], bool: [Uint8Array, '|b1'], float16: [Uint16Array, '<f2'],
};

export class Unfit extends Error {}

export function count(dims) {
  return dims.reduce((n, d) => n * d, 1);
}

// ---- float16, which not every browser has as an array ----

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** The nearest float16 as its 16 bits; halves go to the even one. */
export function toHalf(x) {
  float[0] = x;
  const sign = (bits[0] >>> 16) & 0x8000;
  const size = Math.abs(float[0]);
  if (Number.isNaN(size))
    return sign | 0x7e00;
  if (size >= 65520)
    return sign | 0x7c00;
  const exponent = size < 2 ** -14 ? -14 : Math.floor(Math.log2(size));
  const steps = size / 2 ** (exponent - 10);
  const low = Math.floor(steps);
  const rest = steps - low;
  const whole = rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low;
  return sign | (exponent === -14 ? whole : ((exponent + 14) << 10) + whole);
}

export function fromHalf(h) {
  const [sign, exponent, fraction] = [h & 0x8000 ? -1 : 1, (h >> 10) & 31, h & 1023];
  if (exponent === 31)
    return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** Numbers (or BigInts) as an array of a type. */
export function convert(numbers, type) {
  const [Kind] = ARRAYS[type];
  if (type === 'float16')
    return Uint16Array.from(numbers, (x) => toHalf(Number(x)));
  if (type === 'bool')
    return Uint8Array.from(numbers, (x) => Number(Boolean(x)));
  if (Kind === BigInt64Array || Kind === BigUint64Array)
    return Kind.from(numbers, (x) => (typeof x === 'bigint' ? x : BigInt(Math.trunc(x))));
  return Kind.from(numbers, Number);
}

export function numbersOf({ type, data }) {
  return Array.from(data, type === 'float16' ? fromHalf : Number);
}

// ---- where numbers come from ----

/** Normal numbers for floats, small ones for integers: random, but the same for the same seed. */
export function randomNumbers(type, dims, seed = 1) {
  let state = seed >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const draw = type.startsWith('float') ? normal : type === 'bool' ? () => next() < 0.5 : () => Math.floor(next() * 10);
  return convert(Array.from({ length: count(dims) }, draw), type);
}

/** What pt2onnx.state.initial in a model's metadata says of an input: { type, dims, data }; null where it points into the file. */
export function firstValue({ type, shape, value, values }) {
  if (!ARRAYS[type] || (value === undefined && !values))
    return null;
  const number = (v) => (typeof v === 'string' ? Number(v.replace('inf', 'Infinity')) : v);
  return { type, dims: shape, data: convert(values ? values.map(number) : new Array(count(shape)).fill(number(value)), type) };
}

/** "1 2 3, 4.5 true": as many as dims ask for, or one for all. */
export function typedNumbers(text, type, dims) {
  const words = text.replace(/[[\](),;]/g, ' ').split(/\s+/).filter(Boolean);
  const n = count(dims);
  const isInteger = ARRAYS[type][0] === BigInt64Array || ARRAYS[type][0] === BigUint64Array;
  const numbers = words.map((word) => {
    if (/^(true|false)$/i.test(word))
      return Number(/^t/i.test(word));
    const number = isInteger && /^-?\d+$/.test(word) ? BigInt(word) : Number(word.replace(/^(-?)inf$/i, '$1Infinity'));
    if (Number.isNaN(number) && !/^nan$/i.test(word))
      throw new Unfit(word);
    return number;
  });
  if (numbers.length === 1 && n !== 1)
    return convert(new Array(n).fill(numbers[0]), type);
  if (numbers.length !== n)
    throw new Unfit(`${numbers.length} ≠ ${n}`);
  return convert(numbers, type);
}

/** { type, dims, data } of numpy's file format, versions 1 to 3. */
export async function readNpy(blob) {
  const bytes = await blob.arrayBuffer();
  const view = new DataView(bytes);
  const magic = String.fromCharCode(...new Uint8Array(bytes, 0, Math.min(6, bytes.byteLength)));
  if (magic !== '\x93NUMPY')
    throw new Unfit('.npy');
  const long = view.getUint8(6) > 1;
  const start = long ? 12 : 10;
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder('latin1').decode(new Uint8Array(bytes, start, length));
  const descr = /'descr':\s*'([^']+)'/.exec(header)?.[1];
  const dims = (/'shape':\s*\(([^)]*)\)/.exec(header)?.[1] ?? '').split(',').filter((word) => word.trim()).map(Number);
  const [type, [Kind]] = Object.entries(ARRAYS).find(([, [, d]]) => d === descr) ?? [null, [null]];
  if (!type)
    throw new Unfit(descr ?? 'descr');
  const from = start + length;
  const size = count(dims) * Kind.BYTES_PER_ELEMENT;
  if (bytes.byteLength - from < size)
    throw new Unfit(`${bytes.byteLength - from} < ${size}`);
  let data = new Kind(bytes.slice(from, from + size));
  if (/'fortran_order':\s*True/.test(header))
    data = rowOrder(data, dims, Kind);
  return { type, dims, data };
}

/** Fortran's order: the first index runs fastest. */
function rowOrder(data, dims, Kind) {
  const strides = dims.map((_, i) => count(dims.slice(0, i)));
  const out = new Kind(data.length);
  const index = dims.map(() => 0);
  for (let i = 0; i < out.length; i++) {
    out[i] = data[index.reduce((at, k, d) => at + k * strides[d], 0)];
    for (let d = dims.length - 1; d >= 0 && ++index[d] === dims[d]; d--)
      index[d] = 0;
  }
  return out;
}

export function writeNpy({ type, dims, data }) {
  const text = `{'descr': '${ARRAYS[type][1]}', 'fortran_order': False, 'shape': (${dims.join(', ')}${dims.length === 1 ? ',' : ''}), }`;
  const header = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
  const head = new Uint8Array([0x93, ...new TextEncoder().encode('NUMPY'), 1, 0, header.length & 255, header.length >> 8]);
  return new Blob([head, header, data], { type: 'application/octet-stream' });
}

// ---- images ----

export const SCALES = {
  unit: (x) => x / 255,
  imagenet: (x, channel) => (x / 255 - [0.485, 0.456, 0.406][channel]) / [0.229, 0.224, 0.225][channel],
  signed: (x) => x / 127.5 - 1,
  bytes: (x) => x,
};

/** Which axes of an input are channels, rows and columns; null: it takes no image. */
export function imageAxes(dims) {
  if (dims.length !== 4)
    return null;
  if (dims[1] === 1 || dims[1] === 3)
    return { channels: 1, rows: 2, columns: 3 };
  return dims[3] === 1 || dims[3] === 3 ? { channels: 3, rows: 1, columns: 2 } : null;
}

/** An image drawn to the input's size, once for each of the batch. */
export async function readImage(blob, type, dims, scale) {
  const axes = imageAxes(dims);
  const [channels, height, width] = [dims[axes.channels], dims[axes.rows], dims[axes.columns]];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(await createImageBitmap(blob), 0, 0, width, height);
  const { data: pixels } = context.getImageData(0, 0, width, height);
  const one = new Array(channels * height * width);
  for (let p = 0; p < height * width; p++)
    for (let c = 0; c < channels; c++) {
      const x = channels === 1 ? 0.299 * pixels[4 * p] + 0.587 * pixels[4 * p + 1] + 0.114 * pixels[4 * p + 2] : pixels[4 * p + c];
      one[axes.channels === 1 ? c * height * width + p : p * channels + c] = SCALES[scale](x, channels === 1 ? 1 : c);
    }
  return convert(Array.from({ length: dims[0] }, () => one).flat(), type);
}
