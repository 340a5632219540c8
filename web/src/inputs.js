// inputs.js - the inputs of a file, as `pt2onnx show` lists them, and the SPECs that come of editing them.

export const TYPES = ['float32', 'float16', 'bfloat16', 'float64', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool',
  'complex64', 'complex128'];

/**
 * "  x  float32[N,3,224,224]" is a tensor of known type, "  x  Tensor   here float32[x_0,3]" one of which the file says
 * nothing (what is `here` was assumed), "  sr  int = 16000" an argument of Python's.
 * @typedef {{name: string, kind: 'tensor' | 'value', type: string, sizes: string, declared: string}} Input
 * @param {string} text what `pt2onnx show` prints
 * @returns {Input[]}
 */
export function inputsOf(text) {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => /^inputs \(\d+\)$/.test(line));
  const count = from < 0 ? 0 : Number(lines[from].slice(8, -1));
  return lines.slice(from + 1, from + 1 + count).map((line) => {
    const [, name, shown] = /^ {2}(\S+) +(.*)$/.exec(line) ?? [null, line.trim(), ''];
    const declared = shown.replace(/ +here .*$/, '');
    const tensor = /^(\w+)\[([^\]]*)\]/.exec(declared);
    if (tensor && TYPES.includes(tensor[1]))
      return { name, kind: 'tensor', type: tensor[1], sizes: tensor[2].replaceAll(',', ', '), declared };
    if (/^Tensor\b/.test(declared))
      return { name, kind: 'tensor', type: '', sizes: '', declared };
    return { name, kind: 'value', type: '', sizes: '', declared };
  });
}

/**
 * The SPEC for `-i`, or null where nothing was changed and the file's own words stand.
 * @param {Input} input
 * @param {{type: string, sizes: string, value: string}} edited sizes: "N, 3, 224", "[]" for a single number
 */
export function specOf(input, edited) {
  if (input.kind === 'value')
    return edited.value.trim() ? `${input.name}=${edited.value.trim()}` : null;
  const text = edited.sizes.trim();
  const list = text.replace(/^\[|\]$/g, '').split(/\s*[,x×]\s*|\s+/).filter(Boolean).join(',');
  if (edited.type === input.type && list === input.sizes.replaceAll(' ', ''))
    return null;
  if (!text && !input.sizes)
    throw new NoSizes(input.name);
  return `${input.name}:${edited.type || 'float32'}[${list}]`;
}

/** A type was chosen for an input, but no sizes. */
export class NoSizes extends Error {}
