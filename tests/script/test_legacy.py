"""Archives of PyTorch 1.0 to 1.3, made by legacy.py with the code that those releases printed, against the same thing in torch."""
import os
import sys

import numpy
import pytest
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import legacy                                                       # noqa: E402
import oracle                                                       # noqa: E402
from legacy import Ints, Module, Tensor                             # noqa: E402


def convert(tmp_path, main, proto, runs, *options, **more):
    """runs: (inputs, what torch says), as tensors."""
    out = tmp_path / "net.onnx"
    done = oracle.converted(legacy.write(tmp_path / "net.pt", main, proto, **more), out, *options)
    oracle.check(out)
    oracle.run(out, [([x.numpy() for x in xs], [y.detach().numpy() for y in ys]) for xs, ys in runs])
    return done


def test_trace_of_1_0(tmp_path):
    """Parameters are named from the root, children called by a number through getattr; constants stand behind them in the table."""
    torch.manual_seed(1)
    a, b = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)
    main = Module(children={"0": Module({"weight": a.weight, "bias": a.bias}), "2": Module({"weight": b.weight, "bias": b.bias})}, code='''\
def forward(self,
    input_1: Tensor) -> Tensor:
  input_2 = torch.addmm(getattr(self, "0").bias, input_1, torch.t(getattr(self, "0").weight), beta=1, alpha=1)
  input_3 = torch.threshold(input_2, 0., 0.)
  input = torch.addmm(getattr(self, "2").bias, input_3, torch.t(getattr(self, "2").weight), beta=1, alpha=1)
  return torch.mul(input, CONSTANTS.c4)
''')
    xs = [torch.randn(n, 4) for n in (1, 3)]
    convert(tmp_path, main, 1, [([x], [b(torch.relu(a(x))) * 2.5]) for x in xs], "-i", "input_1:float32[N,4]", constants=[torch.tensor(2.5)])


def test_convolutions_of_1_0(tmp_path):
    """Full argument lists: twelve of _convolution, upsample_nearest2d without scales, sizes as tensors of a trace."""
    torch.manual_seed(2)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3, padding=1), torch.nn.BatchNorm2d(6)).eval()
    net[1].running_mean.uniform_(-1, 1), net[1].running_var.uniform_(0.5, 2)
    conv, bn = net
    main = Module(children={"conv": Module({"weight": conv.weight, "bias": conv.bias}),
                            "bn": Module({"weight": bn.weight, "bias": bn.bias},
                                         {"running_mean": bn.running_mean, "running_var": bn.running_var,
                                          "num_batches_tracked": bn.num_batches_tracked})}, code='''\
def forward(self,
    x: Tensor) -> Tensor:
  _0 = torch._convolution(x, self.conv.weight, self.conv.bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True)
  _1 = torch.batch_norm(_0, self.bn.weight, self.bn.bias, self.bn.running_mean, self.bn.running_var, False, 0.10000000000000001, 1.0000000000000001e-05, True)
  _2 = torch.max_pool2d(torch.threshold_(_1, 0., 0.), [2, 2], [2, 2], [0, 0], [1, 1], False)
  _3 = torch.upsample_nearest2d(_2, [8, 8])
  _4 = ops.prim.NumToTensor(torch.size(_3, 0))
  return torch.view(_3, [int(_4), -1])
''')
    xs = [torch.randn(n, 3, 8, 8) for n in (2, 1)]
    convert(tmp_path, main, 1, [([x], [F.interpolate(F.max_pool2d(torch.relu(net(x)), 2), size=(8, 8)).flatten(1)]) for x in xs],
            "-i", "x:float32[N,3,8,8]")


@pytest.mark.parametrize("proto", [2, 5])
def test_attributes(proto, tmp_path):
    """attributes.pkl of 1.1 (objects of __main__) and later (calls): tensors of the table, lists, a dict, numbers, None."""
    w, shift = torch.randn(3, 2), torch.tensor([1.0, 2.0])
    main = Module({"w": w}, {}, {"sizes": ("List[int]", Ints([2, -1])), "by_name": ("Dict[str, Tensor]", {"shift": Tensor(1)}),
                                 "scale": ("float", 0.5), "flag": ("bool", True), "nothing": ("Optional[Tensor]", None),
                                 "pair": ("Tuple[int, str]", (3, "three"))}, code='''\
def forward(self,
    x: Tensor) -> Tensor:
  y = torch.add(torch.matmul(x, self.w), self.by_name["shift"], alpha=1)
  if self.flag:
    y0 = torch.mul(y, self.scale)
  else:
    y0 = y
  if torch.__is__(self.nothing, None):
    y1 = torch.view(y0, self.sizes)
  else:
    y1 = y0
  _0, _1, = self.pair
  if torch.eq(_1, "three"):
    y2 = torch.add(y1, _0, 1)
  else:
    y2 = y1
  return y2
''')
    x = torch.randn(4, 3)
    convert(tmp_path, main, proto, [([x], [(((x @ w + shift) * 0.5).view(2, -1) + 3)])], "-i", "x:float32[4,3]", constants=[shift])


def test_classes_of_1_1(tmp_path):
    """One record for all classes, which are named without a path and do not declare their attributes."""
    main = Module(code='''\
def forward(self,
    x: Tensor) -> Tensor:
  box = Box(x, 2)
  return (box).scaled(3)
''')
    libs = '''\
class Box:
  def __init__(self: Box,
      x: Tensor,
      n: int) -> None:
    self.x = x
    self.n = n
  def scaled(self: Box,
      by: int) -> Tensor:
    return torch.mul(self.x, torch.mul(self.n, by))
'''
    x = torch.randn(2, 3)
    convert(tmp_path, main, 2, [([x], [x * 6])], "-i", "x:float32[2,3]", libs=libs)


def test_functions_of_1_2(tmp_path):
    """Functions and classes lie under libs/, imported by name; methods of children are called."""
    torch.manual_seed(3)
    fc = torch.nn.Linear(4, 4)
    child = Module({"weight": fc.weight, "bias": fc.bias}, attributes={"training": ("bool", False)}, code='''\
import __torch__.torch.nn.functional
def forward(self,
    input: Tensor) -> Tensor:
  _0 = __torch__.torch.nn.functional.linear
  return _0(input, self.weight, self.bias)
''')
    main = Module(attributes={"training": ("bool", False)}, children={"fc": child}, code='''\
import __torch__.net
def forward(self,
    x: Tensor) -> Tuple[Tensor, Tensor]:
  n = 0
  x0 = x
  for i in range(3):
    x0, n = (self.fc).forward(x0, ), torch.add(n, i)
  pair = __torch__.net.Pair(x0, n)
  return (pair.first, (pair).total())
''')
    libs = {"__torch__/torch/nn/functional": '''\
def linear(input: Tensor,
    weight: Tensor,
    bias: Optional[Tensor]=None) -> Tensor:
  if torch.__isnot__(bias, None):
    bias0 = ops.prim.unchecked_unwrap_optional(bias)
    ret = torch.addmm(bias0, input, torch.t(weight), beta=1, alpha=1)
  else:
    ret = torch.matmul(input, torch.t(weight))
  return ret
''', "__torch__/net": '''\
class Pair:
  first : Tensor
  second : int
  def __init__(self: __torch__.net.Pair,
    first: Tensor,
    second: int) -> None:
    self.first = first
    self.second = second
  def total(self: __torch__.net.Pair) -> Tensor:
    return torch.add(self.first, self.second, alpha=1)
'''}
    x = torch.randn(5, 4)
    y = fc(fc(fc(x)))
    convert(tmp_path, main, 5, [([x], [y, y + 3])], "-i", "x:float32[5,4]", libs=libs)


def test_state_of_its_own(tmp_path):
    """1.3: __setstate__ runs over attributes that the file leaves unset, beside those and the children that it sets."""
    child = Module(attributes={"scale": ("float", None), "kept": ("int", 7)}, state=(0.25, 3), code='''\
def __getstate__(self) -> Tuple[float, int]:
  return (self.scale, 1)
def __setstate__(self,
    state: Tuple[float, int]) -> None:
  a, b, = state
  self.scale = torch.mul(a, b)
  return None
def forward(self,
    x: Tensor) -> Tensor:
  return torch.add(torch.mul(x, self.scale), self.kept, alpha=1)
''')
    main = Module(children={"c": child}, code='''\
def forward(self,
    x: Tensor) -> Tensor:
  return (self.c).forward(x, )
''')
    x = torch.randn(3)
    convert(tmp_path, main, 6, [([x], [x * 0.75 + 7])], "-i", "x:float32[3]")


def test_shared_storage_and_old_division(tmp_path):
    """A tied weight is one initializer; dividing integers truncated until version 4."""
    w = torch.randn(4, 4)
    main = Module({"a": w, "b": w}, code='''\
def forward(self,
    x: Tensor,
    n: Tensor) -> Tuple[Tensor, Tensor]:
  _0 = torch.matmul(torch.matmul(x, self.a), self.b)
  return (_0, torch.div(n, CONSTANTS.c2))
''')
    x, n = torch.randn(2, 4), torch.tensor([-7, 7, 5])
    done = convert(tmp_path, main, 1, [([x, n], [x @ w @ w, torch.tensor([-3, 3, 2])])], "-i", "x:float32[2,4]", "-i", "n:int64[3]",
                   constants=[torch.tensor(2)])
    assert done.stderr == ""
    import onnx
    assert [i.name for i in onnx.load(str(tmp_path / "net.onnx")).graph.initializer if i.dims == [4, 4]] == ["a"]


@pytest.mark.parametrize("change, message", [
    (lambda t: t.replace('"tensorId": "0"', '"tensorId": "9"'), "tensor 9 is named, and model.json lists 1"),
    (lambda t: t.replace('"FLOAT"', '"STRING"'), "has STRING for its element type"),
    (lambda t: t.replace('"dims": ["3"]', '"dims": ["-3"]'), "no natural number"),
    (lambda t: t.replace('"dims": ["3"]', '"dims": ["4"]'), "needs 4 elements of tensors/0"),
    (lambda t: t.replace('code/net.py', 'code/not.py'), "the archive has no record code/not.py"),
    (lambda t: t.replace('"mainModule"', '"module"'), "model.json has no mainModule"),
    (lambda t: t.replace('"id": "0"', '"id": "5"'), "attribute 5 is named, and attributes.pkl has 1"),
    (lambda t: t.replace('"type": "int"', '"type": "int["'), "model.json"),
    (lambda t: t[:-20], "the text ends too early"),
    (lambda t: t.replace('{"key": "tensors/0"}', '{"key": "tensors/7"}'), "no record tensors/7"),
])
def test_damaged(change, message, tmp_path):
    import zipfile
    main = Module({"w": torch.randn(3)}, attributes={"n": ("int", 2)}, code="def forward(self, x: Tensor) -> Tensor:\n  return torch.mul(x, self.w)\n")
    whole, bad = legacy.write(tmp_path / "net.pt", main, 5), tmp_path / "bad.pt"
    with zipfile.ZipFile(str(whole)) as z, zipfile.ZipFile(str(bad), "w") as to:
        for name in z.namelist():
            text = z.read(name)
            to.writestr(name, change(text.decode()) if name.endswith("model.json") else text)
    done = oracle.convert(bad, tmp_path / "out.onnx")
    assert done.returncode in (1, 3) and message in done.stderr, done.stderr
    assert not os.path.exists(tmp_path / "out.onnx")
