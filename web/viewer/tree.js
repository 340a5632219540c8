// tree.js - the graph folded by module: groups in groups, nodes as leaves, and for each group the edges that are drawn in it.
//
// An edge from a node to a node is drawn in the group where their ways part. In the groups below, on both sides, it is a
// port: what comes in from outside, what goes out. So each group can be laid out by itself.

const MOST_CHILDREN = 96;           // more than that are folded into runs: "nodes 1-64"
const RUN = 64;

/** map.get(key), a list, with one more in it */
function append(map, key, value) {
  const list = map.get(key);
  if (list)
    list.push(value);
  else
    map.set(key, [value]);
}

/** The path of modules of a node: pt2onnx's metadata, or what other exporters put into names. */
function modulePath(node, known) {
  if (known)
    return (node.props['pt2onnx.module'] ?? '').split('.').filter(Boolean);
  const parts = node.name.split('/').filter(Boolean);
  return parts.length > 1 ? parts.slice(0, -1) : [];
}

/** Names of values as one graph sees them: its own, then those of the graph around it. */
class Scope {
  constructor(graph, up) {
    Object.assign(this, { graph, up, makers: new Map(), constants: new Map() });
    for (const [name, tensor] of graph.weights)
      this.constants.set(name, tensor);
  }

  find(table, name) {
    for (let scope = this; scope; scope = scope.up)
      if (scope[table].has(name))
        return scope[table].get(name);
    return undefined;
  }

  maker(name) {
    return this.find('makers', name);
  }

  constant(name) {
    return this.find('constants', name);
  }

  type(name) {
    for (let scope = this; scope; scope = scope.up)
      if (scope.graph.types.has(name))
        return scope.graph.types.get(name);
    const tensor = this.constant(name);
    return tensor && { kind: 'tensor', dtype: tensor.dtype, dims: tensor.dims };
  }
}

export class Tree {
  constructor(model) {
    this.model = model;
    this.items = [];                // by id
    this.leaves = [];               // every node, also of bodies
    this.bySource = new Map();      // "net.py:41" -> leaves
    this.byName = new Map();
    this.root = this.group(null, '', '');
    this.root.open = true;
    this.addGraph(model.graph, this.root, null, true);
    this.simplify(this.root);
    this.number(this.root);
    this.connect();
  }

  // ---- items ----

  add(item) {
    item.id = this.items.length;
    this.items.push(item);
    return item;
  }

  group(parent, name, path) {
    const made = this.add({ kind: 'group', parent, name, path, className: '', node: null, children: [], open: false });
    parent?.children.push(made);
    return made;
  }

  leaf(parent, kind, name, properties) {
    const made = this.add({ kind, parent, name, label: '', ...properties });
    parent.children.push(made);
    return made;
  }

  addGraph(graph, root, up, isTop) {
    const scope = new Scope(graph, up);
    const known = graph.nodes.some((node) => node.props['pt2onnx.module'] !== undefined);
    const groups = new Map();
    for (const { name } of isTop ? graph.inputs : [])
      scope.makers.set(name, this.leaf(root, 'input', name, { scope, value: name }));
    for (const node of graph.nodes)
      this.addNode(node, scope, this.groupOf(modulePath(node, known), root, groups, node));
    for (const { name } of isTop ? graph.outputs : [])
      this.leaf(root, 'output', name, { scope, value: name });
    return scope;
  }

  groupOf(path, root, groups, node) {
    let at = root;
    path.forEach((name, i) => {
      const key = path.slice(0, i + 1).join('.');
      if (!groups.has(key))
        groups.set(key, this.group(at, name, (root.path ? root.path + '/' : '') + key));
      at = groups.get(key);
    });
    if (path.length && node.props['pt2onnx.class'])
      at.className = node.props['pt2onnx.class'];
    return at;
  }

  addNode(node, scope, parent) {
    if (node.op === 'Constant' && node.outputs.length === 1) {
      const value = node.attributes.find((a) => a.name.startsWith('value'));
      scope.constants.set(node.outputs[0], value?.kind === 'tensor' ? value.value : { name: node.outputs[0], dtype: '', dims: [], data: null, literal: value?.value });
      return;
    }
    const bodies = node.attributes.filter((a) => a.kind === 'graph').map((a) => [a.name, a.value, scope]);
    const called = this.model.functions.get(`${node.domain}::${node.op}`);
    const nested = this.depth(parent) < 40;
    const item = (bodies.length || called) && nested
      ? Object.assign(this.group(parent, node.op, node.name), { node, scope })
      : this.leaf(parent, 'node', node.op, { node, scope });
    for (const output of node.outputs)
      if (output)
        scope.makers.set(output, item);
    this.leaves.push(item);
    this.byName.set(node.name || node.outputs[0], item);
    const source = node.props['pt2onnx.source'];
    if (source)
      append(this.bySource, source, item);
    if (item.kind === 'group') {
      for (const [name, graph, up] of bodies)
        this.addBody(item, bodies.length > 1 ? this.group(item, name, `${item.path}/${name}`) : item, graph, up);
      if (called)
        this.addBody(item, item, called, null);
    }
  }

  /** The graph of an If, Loop or function, inside the group that stands for the node. */
  addBody(item, group, graph, up) {
    const first = this.leaves.length;
    const scope = this.addGraph(graph, group, up, false);
    item.bodies = [...item.bodies ?? [], scope];
    if (this.leaves.length === first && group !== item)
      group.children = [];
  }

  depth(item) {
    let n = 0;
    for (let at = item; at; at = at.parent)
      n++;
    return n;
  }

  /** A group of one thing is that thing, with the group's name; one of very many is divided into runs. */
  simplify(group) {
    for (const child of group.children)
      if (child.kind === 'group')
        this.simplify(child);
    group.children = group.children.flatMap((child) => {
      if (child.kind !== 'group' || child.node || child.children.length > 1)
        return [child];
      const [only] = child.children;
      if (!only)
        return [];
      only.parent = group;
      if (only.kind === 'group' && !only.node)
        only.name = `${child.name}.${only.name}`;
      else
        only.label = only.label ? `${child.name}.${only.label}` : child.name;
      return [only];
    });
    if (group.children.length > MOST_CHILDREN)
      this.divide(group);
  }

  divide(group) {
    const all = group.children;
    const inner = all.filter((child) => child.kind !== 'input' && child.kind !== 'output');
    const size = Math.max(RUN, Math.ceil(inner.length / MOST_CHILDREN));
    group.children = all.filter((child) => child.kind === 'input');
    for (let i = 0; i < inner.length; i += size) {
      const run = this.group(group, `${i + 1}–${Math.min(i + size, inner.length)}`, `${group.path}[${i}]`);
      run.children = inner.slice(i, i + size);
      for (const child of run.children)
        child.parent = run;
    }
    group.children.push(...all.filter((child) => child.kind === 'output'));
  }

  number(group) {
    group.count = 0;
    group.depth = group.parent ? group.parent.depth + 1 : 0;
    for (const child of group.children) {
      child.depth = group.depth + 1;
      if (child.kind === 'group') {
        this.number(child);
        group.count += child.count + (child.node ? 1 : 0);
      } else if (child.kind === 'node') {
        group.count++;
      }
    }
  }

  // ---- edges ----

  connect() {
    for (const item of this.items)
      if (item.kind === 'group')
        Object.assign(item, { edges: new Map(), entries: new Map(), exits: new Map() });
    for (const item of this.leaves) {
      for (const name of item.node.inputs)
        if (name)
          this.edge(item.scope.maker(name), item, name, item.scope);
      for (const scope of item.bodies ?? [])
        for (const { name } of scope.graph.outputs)
          this.leave(scope.maker(name), item, name, scope);
    }
    for (const item of this.items)
      if (item.kind === 'output')
        this.edge(item.scope.maker(item.value), item, item.value, item.scope);
  }

  /** From where a value is made to where it is used. */
  edge(from, to, name, scope) {
    if (!from || from === to)
      return;
    let [a, b] = [from, to];
    const value = { name, from, scope };
    while (a.parent !== b.parent) {
      if (a.depth >= b.depth) {
        this.port(a.parent.exits, a, value);
        a = a.parent;
      } else {
        this.port(b.parent.entries, b, value);
        b = b.parent;
      }
      if (a === b)                  // a value of a body that its own node is said to use
        return;
    }
    if (a === b || !a.parent)
      return;
    const key = `${a.id}>${b.id}`;
    const drawn = a.parent.edges.get(key) ?? { from: a, to: b, values: [] };
    if (!drawn.values.some((v) => v.name === name && v.from === from))
      drawn.values.push(value);
    a.parent.edges.set(key, drawn);
  }

  /** The result of a body: it goes out of the group that stands for the node. */
  leave(from, item, name, scope) {
    const value = { name, from, scope };
    for (let at = from; at && at.parent && at !== item; at = at.parent)
      this.port(at.parent.exits, at, value);
  }

  port(ports, child, value) {
    const key = `${value.from.id}:${value.name}`;
    const port = ports.get(key) ?? { value, children: new Set() };
    port.children.add(child);
    ports.set(key, port);
  }

  // ---- asking ----

  /** Where an item is drawn now: itself, or the outermost closed group around it. */
  shown(item) {
    let visible = item;
    for (let at = item.parent; at; at = at.parent)
      if (!at.open)
        visible = at;
    return visible;
  }

  users(item) {
    const users = [];
    for (const name of item.node?.outputs ?? [item.value])
      for (const other of this.usersOf(item, name))
        users.push(other);
    return users;
  }

  usersOf(item, name) {
    this.uses ??= this.collectUses();
    return this.uses.get(`${item.id}:${name}`) ?? [];
  }

  collectUses() {
    const uses = new Map();
    const use = (scope, name, by) => {
      const maker = name && scope.maker(name);
      if (maker)
        append(uses, `${maker.id}:${name}`, by);
    };
    for (const item of this.leaves)
      for (const name of new Set(item.node.inputs))
        use(item.scope, name, item);
    for (const item of this.items)
      if (item.kind === 'output')
        use(item.scope, item.value, item);
    return uses;
  }
}
