// onnx.js - an ONNX file as plain objects: the part of onnx.proto that a picture needs.
//
// Weights are not read: a tensor is known by its type, its sizes and where its bytes lie. The top of the file is walked
// in windows of a Blob, so that a model of 2 GB costs the memory of its graph; nodes are read whole.

const WINDOW = 1 << 16;
const DEEPEST = 64;
const decoder = new TextDecoder();

export const DTYPES = ['', 'float32', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string', 'bool', 'float16', 'float64',
  'uint32', 'uint64', 'complex64', 'complex128', 'bfloat16', 'float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2', 'float8e5m2fnuz',
  'uint4', 'int4', 'float4e2m1', 'float8e8m0', 'uint2', 'int2'];
const BITS = { float32: 32, uint8: 8, int8: 8, uint16: 16, int16: 16, int32: 32, int64: 64, bool: 8, float16: 16, float64: 64, uint32: 32,
  uint64: 64, complex64: 64, complex128: 128, bfloat16: 16, uint4: 4, int4: 4, float4e2m1: 4, uint2: 2, int2: 2 };

export class Damaged extends Error {}

// ---- the wire format ----

/** A cursor over bytes in memory; `base` is where they lie in the file. */
class Bytes {
  constructor(bytes, base, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.base = base;
    this.at = at;
    this.end = end;
  }

  get view() {
    return new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
  }

  /** An unsigned number; those over 2^53 are rounded, which only sizes of damaged files are. */
  varint() {
    let value = 0;
    for (let scale = 1, i = 0; i < 10; i++, scale *= 128) {
      if (this.at >= this.end)
        throw new Damaged('a number is cut short');
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128)
        return value;
    }
    throw new Damaged('a number has more than 10 bytes');
  }

  /** int64: negative numbers have all 64 bits. */
  int64() {
    const start = this.at;
    const value = this.varint();
    if (value <= Number.MAX_SAFE_INTEGER)
      return value;
    let exact = 0n;
    for (let i = this.at - 1; i >= start; i--)
      exact = (exact << 7n) | BigInt(this.bytes[i] & 127);
    exact = BigInt.asIntN(64, exact);
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
  }

  /** The next field: { field, wire, value } with value a number, or a Bytes for what has a length. Null at the end. */
  next() {
    if (this.at >= this.end)
      return null;
    const tag = this.varint();
    const field = Math.floor(tag / 8);
    const wire = tag % 8;
    const width = { 1: 8, 5: 4 }[wire];
    if (wire === 0)
      return { field, wire, value: this, read: 'varint' };
    const length = wire === 2 ? this.varint() : width;
    if (length === undefined || length > this.end - this.at)
      throw new Damaged('a field ends behind the end of the file');
    const value = new Bytes(this.bytes, this.base, this.at, this.at + length);
    this.at += length;
    return { field, wire, value };
  }

  text() {
    return decoder.decode(this.bytes.subarray(this.at, this.end));
  }
}

/** Calls on[field](value) for each field of a message. A number that nobody asks for is passed over. */
function fields(message, on) {
  for (let f = message.next(); f; f = message.next()) {
    const start = message.at;
    on[f.field]?.(f.value, f.wire);
    if (f.wire === 0 && message.at === start)
      message.varint();
  }
}

const text = (to, key) => (v) => { to[key] = v.text(); };
const int = (to, key) => (v) => { to[key] = v.int64(); };
const texts = (list) => (v) => list.push(v.text());

/** Repeated numbers, packed or not. */
function ints(list) {
  return (v, wire) => {
    if (wire === 0)
      list.push(v.int64());
    else
      while (v.at < v.end)
        list.push(v.int64());
  };
}

function floats(list) {
  return (v) => {
    const { view } = v;
    for (; v.at + 4 <= v.end; v.at += 4)
      list.push(view.getFloat32(v.at, true));
  };
}

function pair(v) {
  const made = { key: '', value: '' };
  fields(v, { 1: text(made, 'key'), 2: text(made, 'value') });
  return made;
}

const pairs = (to) => (v) => {
  const { key, value } = pair(v);
  to[key] = value;
};

// ---- messages ----

/** { kind: 'tensor', dtype, dims } with dims of numbers, names and nulls, or undefined; or a kind with `elem`. */
function readType(v, depth = 0) {
  let type = { kind: '' };
  if (depth > DEEPEST)
    throw new Damaged('types are nested too deep');
  const shape = (dims) => (s) => fields(s, {
    1: (d) => {
      let dim = null;
      fields(d, { 1: (n) => { dim = n.int64(); }, 2: (n) => { dim = n.text() || null; } });
      dims.push(dim);
    },
  });
  const tensor = (kind) => (t) => {
    type = { kind, dtype: 0, dims: undefined };
    fields(t, { 1: int(type, 'dtype'), 2: (s) => shape(type.dims = [])(s) });
    type.dtype = DTYPES[type.dtype] ?? `type ${type.dtype}`;
  };
  const holder = (kind) => (t) => {
    type = { kind };
    fields(t, { 1: (e) => { type.elem = readType(e, depth + 1); } });
  };
  fields(v, { 1: tensor('tensor'), 4: holder('sequence'), 5: (m) => {
    type = { kind: 'map' };
    fields(m, { 2: (e) => { type.elem = readType(e, depth + 1); } });
  }, 8: tensor('sparse tensor'), 9: holder('optional') });
  return type;
}

export function typeText(type) {
  if (!type?.kind)
    return '';
  if (type.dtype !== undefined)
    return type.dims ? `${type.dtype}[${type.dims.map((d) => d ?? '?').join(', ')}]` : `${type.dtype}[…]`;
  return `${type.kind}(${typeText(type.elem)})`;
}

function readValue(v) {
  const value = { name: '', type: null };
  fields(v, { 1: text(value, 'name'), 2: (t) => { value.type = readType(t); } });
  return value;
}

// The fields of a TensorProto that hold its numbers, as decoders know them.
const DATA = { 4: 'float', 5: 'int32', 6: 'string', 7: 'int64', 9: 'raw', 10: 'double', 11: 'uint64' };

function newTensor() {
  return { name: '', dtype: '', dims: [], data: null, external: null };
}

function finishTensor(tensor, number, external) {
  tensor.dtype = DTYPES[number] ?? `type ${number}`;
  if (external.location !== undefined)
    tensor.external = { location: external.location, offset: Number(external.offset ?? 0), length: Number(external.length ?? -1) };
  return tensor;
}

/** Where `length` bytes of the numbers lie; a list that is not packed has many places. */
function addData(tensor, encoding, at, length) {
  tensor.data ??= { encoding, ranges: [] };
  tensor.data.ranges.push({ at, length });
}

function readTensor(v) {
  const tensor = newTensor();
  const external = {};
  let number = 0;
  const on = { 1: ints(tensor.dims), 2: (n) => { number = n.int64(); }, 8: text(tensor, 'name'), 13: pairs(external) };
  for (const field of Object.keys(DATA))
    on[field] = (d, wire) => {
      if (wire !== 0)
        addData(tensor, DATA[field], d.base + d.at, d.end - d.at);
    };
  fields(v, on);
  return finishTensor(tensor, number, external);
}

const KINDS = { 1: 'float', 2: 'int', 3: 'string', 4: 'tensor', 5: 'graph', 6: 'floats', 7: 'ints', 8: 'strings', 9: 'tensors', 10: 'graphs', 13: 'type' };

function readAttribute(v, depth) {
  const a = { name: '', kind: '', value: undefined };
  const found = { float: 0, int: 0, string: '', floats: [], ints: [], strings: [], graphs: [] };
  let kind = 0;
  fields(v, {
    1: text(a, 'name'),
    2: (n) => { found.float = n.view.getFloat32(n.at, true); },
    3: int(found, 'int'),
    4: text(found, 'string'),
    5: (t) => { found.tensor = readTensor(t); },
    6: (g) => { found.graph = readGraph(g, depth + 1); },
    7: floats(found.floats),
    8: ints(found.ints),
    9: texts(found.strings),
    11: (g) => found.graphs.push(readGraph(g, depth + 1)),
    14: (t) => { found.type = readType(t); },
    20: (n) => { kind = n.int64(); },
  });
  a.kind = KINDS[kind] ?? '';
  a.value = found[a.kind];
  return a;
}

function readNode(v, depth = 0) {
  const node = { name: '', op: '', domain: '', inputs: [], outputs: [], attributes: [], props: {}, doc: '' };
  fields(v, {
    1: texts(node.inputs),
    2: texts(node.outputs),
    3: text(node, 'name'),
    4: text(node, 'op'),
    5: (a) => node.attributes.push(readAttribute(a, depth)),
    6: text(node, 'doc'),
    7: text(node, 'domain'),
    9: pairs(node.props),
  });
  return node;
}

function newGraph() {
  return { name: '', nodes: [], inputs: [], outputs: [], types: new Map(), weights: new Map() };
}

/** What to do with each field of a GraphProto that is in memory. */
function graphFields(graph, depth) {
  return {
    1: (n) => graph.nodes.push(readNode(n, depth)),
    2: text(graph, 'name'),
    5: (t) => {
      const tensor = readTensor(t);
      graph.weights.set(tensor.name, tensor);
    },
    11: (i) => graph.inputs.push(readValue(i)),
    12: (o) => graph.outputs.push(readValue(o)),
    13: (i) => {
      const { name, type } = readValue(i);
      graph.types.set(name, type);
    },
  };
}

function finishGraph(graph) {
  for (const { name, type } of [...graph.inputs, ...graph.outputs])
    graph.types.set(name, type);
  graph.inputs = graph.inputs.filter(({ name }) => !graph.weights.has(name));
  return graph;
}

function readGraph(v, depth) {
  if (depth > DEEPEST)
    throw new Damaged('graphs are nested too deep');
  const graph = newGraph();
  fields(v, graphFields(graph, depth));
  return finishGraph(graph);
}

function readFunction(v) {
  const graph = newGraph();
  const made = { domain: '', graph };
  fields(v, {
    1: text(graph, 'name'),
    4: (n) => graph.inputs.push({ name: n.text(), type: null }),
    5: (n) => graph.outputs.push({ name: n.text(), type: null }),
    7: (n) => graph.nodes.push(readNode(n)),
    10: text(made, 'domain'),
    12: (i) => {
      const { name, type } = readValue(i);
      graph.types.set(name, type);
    },
  });
  return made;
}

// ---- the file ----

/** A message in a Blob, field by field; `skip` passes over one without reading it. */
class Walk {
  constructor(blob, at, end) {
    Object.assign(this, { blob, at, end, window: new Uint8Array(0), base: at });
  }

  async load(n) {
    const have = this.base + this.window.length - this.at;
    if (this.at < this.base || have < n) {
      this.base = this.at;
      const stop = Math.min(this.end, this.at + Math.max(n, WINDOW));
      this.window = new Uint8Array(await this.blob.slice(this.at, stop).arrayBuffer());
    }
    return new Bytes(this.window, this.base, this.at - this.base, Math.min(this.window.length, this.end - this.base));
  }

  /** { field, wire, at, length } of what comes next, and `at` behind it; null at the end. */
  async next() {
    if (this.at >= this.end)
      return null;
    const head = await this.load(Math.min(20, this.end - this.at));
    const tag = head.varint();
    const [field, wire] = [Math.floor(tag / 8), tag % 8];
    const number = wire === 0 || wire === 2 ? head.varint() : 0;
    const length = { 0: 0, 1: 8, 2: number, 5: 4 }[wire];
    const at = this.base + head.at;
    if (length === undefined || length > this.end - at)
      throw new Damaged('a field ends behind the end of the file');
    this.at = at + length;
    return { field, wire, number, at, length };
  }

  async bytes({ at, length }) {
    const after = this.at;
    this.at = at;
    const all = await this.load(length);
    this.at = after;
    return new Bytes(all.bytes, all.base, all.at, all.at + length);
  }
}

/** An initializer of the file: its numbers are passed over. */
async function walkTensor(blob, { at, length }) {
  const walk = new Walk(blob, at, at + length);
  const tensor = newTensor();
  const external = {};
  let number = 0;
  for (let f = await walk.next(); f; f = await walk.next()) {
    if (f.field === 1 && f.wire === 0)
      tensor.dims.push(f.number);
    else if (f.field === 1)
      ints(tensor.dims)(await walk.bytes(f), 2);
    else if (f.field === 2)
      number = f.number;
    else if (f.field === 8)
      tensor.name = (await walk.bytes(f)).text();
    else if (f.field === 13)
      pairs(external)(await walk.bytes(f));
    else if (DATA[f.field] && f.wire === 2)
      addData(tensor, DATA[f.field], f.at, f.length);
  }
  return finishTensor(tensor, number, external);
}

async function walkGraph(blob, { at, length }) {
  const walk = new Walk(blob, at, at + length);
  const graph = newGraph();
  const on = graphFields(graph, 0);
  for (let f = await walk.next(); f; f = await walk.next()) {
    if (f.field === 5) {
      const tensor = await walkTensor(blob, f);
      graph.weights.set(tensor.name, tensor);
    } else if (on[f.field] && f.wire === 2) {
      on[f.field](await walk.bytes(f), 2);
    }
  }
  return finishGraph(graph);
}

/**
 * The model in a Blob. Its weights stay there.
 * @returns {Promise<{ir: number, producer: string, opsets: {domain: string, version: number}[], props: Object<string, string>,
 *   graph: object, functions: Map<string, object>}>}
 */
export async function readModel(blob) {
  const walk = new Walk(blob, 0, blob.size);
  const model = { ir: 0, producer: '', producerVersion: '', opsets: [], props: {}, graph: null, functions: new Map() };
  for (let f = await walk.next(); f; f = await walk.next()) {
    if (f.field === 7 && f.wire === 2)
      model.graph = await walkGraph(blob, f);
    else if (f.field === 1 && f.wire === 0)
      model.ir = f.number;
    else if ([2, 3, 8, 14, 25].includes(f.field) && f.wire === 2)
      await readModelField(model, f.field, await walk.bytes(f));
  }
  if (!model.graph)
    throw new Damaged('this is no ONNX model: it has no graph');
  return model;
}

function readModelField(model, field, v) {
  if (field === 2)
    model.producer = v.text();
  else if (field === 3)
    model.producerVersion = v.text();
  else if (field === 14)
    pairs(model.props)(v);
  else if (field === 8) {
    const opset = { domain: '', version: 0 };
    fields(v, { 1: text(opset, 'domain'), 2: int(opset, 'version') });
    model.opsets.push(opset);
  } else {
    const { domain, graph } = readFunction(v);
    model.functions.set(`${domain}::${graph.name}`, graph);
  }
}

// ---- sizes of tensors ----

export function elements(dims) {
  return dims.reduce((n, d) => n * Number(d), 1);
}

export function tensorBytes(tensor) {
  return Math.ceil(elements(tensor.dims) * (BITS[tensor.dtype] ?? 8) / 8);
}
