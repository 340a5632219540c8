"""written_pt2.py - .pt2 archives of any size, made without torch: a graph is built node by node and written as JSON."""
import json
import zipfile


def symbol(name):
    return "Symbol('%s', positive=True, integer=True)" % name


def size(d):
    return {"as_int": d} if isinstance(d, int) else {"as_expr": {"expr_str": d, "hint": None}}


def tensor(name):
    return {"as_tensor": {"name": name}}


class Graph:
    def __init__(self, inputs):
        """inputs: name -> sizes; a size is a number or the text of an expression."""
        self.inputs, self.nodes, self.values, self.ints = list(inputs), [], {}, {}
        for name, sizes in inputs.items():
            self.record(name, sizes)

    def record(self, name, sizes, dtype=7):
        strides = [{"as_int": 1}] * len(sizes)
        self.values[name] = {"dtype": dtype, "sizes": [size(d) for d in sizes], "requires_grad": False, "device": {"type": "cpu", "index": None},
                             "strides": strides, "storage_offset": {"as_int": 0}, "layout": 7}

    def node(self, target, inputs, outputs, modules="L__self__,,net.Net", **metadata):
        metadata = dict({"stack_trace": "File \"net.py\", line %d, in forward\n    y = f(y)" % (len(self.nodes) + 1), "nn_module_stack": modules}, **metadata)
        inputs = [{"name": n, "arg": a, "kind": 1} for n, a in inputs]
        self.nodes.append({"target": target, "inputs": inputs, "outputs": outputs, "metadata": metadata, "is_hop_single_tensor_return": None, "name": "n"})

    def op(self, name, args, result, sizes, dtype=7, **keywords):
        """torch.ops.aten.NAME of (parameter, argument) pairs; the result's name."""
        self.record(result, sizes, dtype)
        self.node("torch.ops.aten." + name, args, [tensor(result)], **keywords)
        return result

    def sym_size(self, x, dim, result, expr):
        self.ints[result] = size(expr)
        self.node("torch.ops.aten.sym_size.int", [("self", tensor(x)), ("dim", {"as_int": dim})], [{"as_sym_int": {"as_name": result}}])
        return result

    def sym(self, operator, a, b, result, expr):
        self.ints[result] = size(expr)
        args = [("a", {"as_sym_int": {"as_name": a}}), ("b", {"as_int": b} if isinstance(b, int) else {"as_sym_int": {"as_name": b}})]
        self.node("_operator." + operator, args, [{"as_sym_int": {"as_name": result}}])
        return result

    def json(self, outputs, single=False):
        return {"inputs": [tensor(i) for i in self.inputs], "outputs": [o if isinstance(o, dict) else tensor(o) for o in outputs], "nodes": self.nodes,
                "tensor_values": self.values, "sym_int_values": self.ints, "sym_bool_values": {}, "is_single_tensor_return": single,
                "custom_obj_values": {}, "sym_float_values": {}}


def graph_arg(name, graph, outputs):
    return {"as_graph": {"name": name, "graph": graph.json(outputs)}}


LEAF = {"type": None, "context": None, "children_spec": []}


def spec(kind, children, context="null"):
    return {"type": "builtins." + kind, "context": context, "children_spec": children}


def write(path, graph, outputs, state=(), ranges=None, writes=(), kinds=None, guards=(), calls=()):
    """state: (input's name, name, floats) of what the file holds; writes: (output's name, output spec) before the outputs proper."""
    kinds = {name: {"parameter": {"arg": {"name": name}, "parameter_name": fqn}} for name, fqn, _ in state} | (kinds or {})
    users = [n for n in graph.inputs if n not in kinds]
    specs = [kinds.get(n) or {"user_input": {"arg": tensor(n)}} for n in graph.inputs]
    out_specs = [s for _, s in writes] + [{"user_output": {"arg": o if isinstance(o, dict) else tensor(o)}} for o in outputs]
    in_spec = spec("tuple", [spec("tuple", [LEAF] * len(users)), spec("dict", [], "[]")])
    signature = {"inputs": [], "outputs": [], "in_spec": json.dumps([1, in_spec]), "out_spec": json.dumps([1, spec("tuple", [LEAF] * len(outputs))]),
                 "forward_arg_names": users}
    module = {"graph": graph.json([o for o, _ in writes] + list(outputs)), "signature": {"input_specs": specs, "output_specs": out_specs},
              "module_call_graph": [{"fqn": "", "signature": signature}, *calls], "metadata": {}, "treespec_namedtuple_fields": {}}
    program = {"graph_module": module, "opset_version": {"aten": 10}, "range_constraints": {k: {"min_val": a, "max_val": b} for k, (a, b) in (ranges or {}).items()},
               "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.13.0", "guards_code": list(guards)}
    config = {}
    with zipfile.ZipFile(path, "w") as z:
        for i, (name, fqn, floats) in enumerate(state):
            z.writestr("net/data/weights/weight_%d" % i, floats)
            config[fqn] = {"path_name": "weight_%d" % i, "is_param": "parameter" in kinds[name], "use_pickle": False, "tensor_meta": graph.values[name]}
        for name, text in (("data/weights/model_weights_config.json", json.dumps({"config": config})), ("models/model.json", json.dumps(program)),
                           ("data/constants/model_constants_config.json", '{"config": {}}'), ("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", "little")):
            z.writestr("net/" + name, text)
    return str(path)
