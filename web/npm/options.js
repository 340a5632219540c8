// options.js - what the functions of this package are given, as [option, value] pairs in the words of the command line.

const NAMES = { inputs: 'input', dims: 'dim', limits: 'limit' };
const NOT_WORDS = ['output', 'signal', 'more'];

/** What pt2onnx says of a model that it does not convert. */
export class ConversionError extends Error {
  name = 'ConversionError';

  constructor(message, status, notes = []) {
    super(message);
    this.status = status;
    this.notes = notes;
  }
}

/** { inputs: ['x:float32[3]'], keepWeights: true, opset: 17 } as [['input', 'x:float32[3]'], ['keep-weights', true], ['opset', '17']]. */
export function pairsOf(options) {
  return Object.entries(options)
    .filter(([name, value]) => !NOT_WORDS.includes(name) && value !== undefined && value !== false)
    .flatMap(([name, value]) => {
      const option = NAMES[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return (Array.isArray(value) ? value : [value]).map((item) => [option, item === true ? true : String(item)]);
    });
}
