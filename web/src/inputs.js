// inputs.js - the inputs of a file, as `pt2onnx show --json` lists them, and the SPECs that come of editing them.

export const TYPES = ['float32', 'float16', 'bfloat16', 'float64', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool',
  'complex64', 'complex128'];

/**
 * A tensor of a type that the file has recorded, "float32[N,3,224,224]"; one of which it says nothing; or an argument
 * of Python's, "int = 16000".
 * @typedef {{name: string, kind: 'tensor' | 'value', type: string, sizes: string, declared: string}} Input
 * @param {{name: string, declared: string, recorded: ?string, default: ?string}[]} listed `arguments` of what `pt2onnx show --json` prints
 * @returns {Input[]}
 */
export function inputsOf(listed) {
  return listed.map(({ name, declared: type, recorded, default: value }) => {
    const declared = recorded ?? (value === null ? type : `${type} = ${value}`);
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
 * @param {{type: string, sizes: string, value: string}} edited sizes: "N, 3, 224", "1x3x224", "[]" for a single number; x_0 is a name
 */
export function specOf(input, edited) {
  if (input.kind === 'value')
    return edited.value.trim() ? `${input.name}=${edited.value.trim()}` : null;
  const text = edited.sizes.trim();
  const list = text.replace(/^\[|\]$/g, '').split(/\s*[,×]\s*|\s+x\s+|(?<=\d)x(?=\d)|\s+/).filter(Boolean).join(',');
  if (edited.type === input.type && list === input.sizes.replaceAll(' ', ''))
    return null;
  if (!text && !input.sizes)
    throw new NoSizes(input.name);
  return `${input.name}:${edited.type || 'float32'}[${list}]`;
}

/**
 * The other way round: what to put into the fields of an input for one of the SPECs, or null where none names it.
 * @param {Input} input
 * @param {string[]} specs "x:float32[N,3]", "scale=2"
 */
export function editedOf(input, specs) {
  for (const spec of specs) {
    const [, name, type, sizes, value] = /^([^:=]+)(?::(\w+)\[([^\]]*)\]|=(.*))$/s.exec(spec) ?? [];
    if (name !== input.name)
      continue;
    if (input.kind === 'value' && value !== undefined)
      return { type: '', sizes: '', value };
    if (input.kind === 'tensor' && type)
      return { type, sizes: sizes.replaceAll(',', ', ') || '[]', value: '' };
  }
  return null;
}

/** A type was chosen for an input, but no sizes. */
export class NoSizes extends Error {}
