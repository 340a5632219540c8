// facts.js - what can be counted in a model: operators, parameters, bytes, floating point operations.
import { elements, tensorBytes } from './onnx.js';

/** A dimension as a number: names count as `unit`; anything else is not known. */
function size(dim, unit) {
  if (typeof dim === 'number')
    return dim;
  return typeof dim === 'string' && /^[A-Za-z_]\w*$/.test(dim) ? unit : NaN;
}

function dimsOf(scope, name, unit) {
  const type = name && scope.type(name);
  return type?.dims?.map((d) => size(d, unit));
}

const product = (list) => list.reduce((a, b) => a * b, 1);

function convolution(node, scope, unit, moving) {
  const weight = dimsOf(scope, node.inputs[1], unit);
  const places = dimsOf(scope, moving(node), unit);
  return weight && places && 2 * product(places) * product(weight.slice(1));
}

// Multiplications and additions of one run.
const COUNTED = {
  Conv: (n, s, u) => convolution(n, s, u, (node) => node.outputs[0]),
  ConvTranspose: (n, s, u) => convolution(n, s, u, (node) => node.inputs[0]),
  MatMul(n, s, u) {
    const [a, y] = [dimsOf(s, n.inputs[0], u), dimsOf(s, n.outputs[0], u)];
    return a && y && 2 * product(y) * a[a.length - 1];
  },
  Gemm(n, s, u) {
    const [a, y] = [dimsOf(s, n.inputs[0], u), dimsOf(s, n.outputs[0], u)];
    const transposed = n.attributes.find((attr) => attr.name === 'transA')?.value;
    return a && y && 2 * product(y) * a[transposed ? 0 : 1];
  },
  LSTM: recurrent,
  GRU: recurrent,
  RNN: recurrent,
  Attention(n, s, u) {
    const [q, k, v] = n.inputs.slice(0, 3).map((name) => dimsOf(s, name, u));
    if (q?.length !== 4 || k?.length !== 4 || v?.length !== 4)
      return undefined;
    return 2 * q[0] * q[1] * q[2] * k[2] * (q[3] + v[3]);
  },
};

function recurrent(n, s, u) {
  const [x, w, r] = n.inputs.slice(0, 3).map((name) => dimsOf(s, name, u));
  return x && w && r && 2 * x[0] * x[1] * (product(w) + product(r));
}
const HEAVY = new Set([...Object.keys(COUNTED), 'Einsum', 'QLinearConv', 'ConvInteger', 'MatMulInteger', 'QLinearMatMul', 'DeformConv']);

export function flops(item, unit = 1) {
  const count = COUNTED[item.node.op]?.(item.node, item.scope, unit);
  return Number.isFinite(count) ? count : undefined;
}

/** What stands in the summary. */
export function summarise(tree) {
  const { model } = tree;
  const operators = new Map();
  const heavy = { total: 0, unknown: 0 };
  for (const item of tree.leaves) {
    const { op, domain } = item.node;
    const name = domain && domain !== 'ai.onnx' ? `${domain}::${op}` : op;
    operators.set(name, (operators.get(name) ?? 0) + 1);
    if (HEAVY.has(op)) {
      const count = flops(item);
      heavy.total += count ?? 0;
      heavy.unknown += count === undefined;
    }
  }
  const weights = [...model.graph.weights.values()];
  const open = new Set(model.graph.inputs.flatMap(({ type }) => type?.dims ?? []).filter((d) => typeof d === 'string'));
  return {
    operators: [...operators].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])),
    nodes: tree.leaves.length,
    weights: weights.length,
    parameters: weights.reduce((n, w) => n + elements(w.dims), 0),
    bytes: weights.reduce((n, w) => n + tensorBytes(w), 0),
    flops: heavy.total,
    notCounted: heavy.unknown,
    open: [...open],
  };
}

export function countText(n) {
  const units = ['', 'K', 'M', 'G', 'T', 'P'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++)
    n /= 1000;
  return i === 0 ? String(n) : `${n < 10 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}
