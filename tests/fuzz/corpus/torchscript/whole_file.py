op_version_set = 1
class Color(Enum):
  RED = 1
  X = -inf
class Pair(NamedTuple):
  a : Tensor
  b : int
class Net(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["b", "nb", ]
  __forward_pre_hooks__ = ["pre", ]
  __annotations__["0"] = Tensor
  w : Tensor
  for : __torch__.m.___torch_mangle_3.Linear
  class : Dict[str, List[Tuple[int, float]]]
  K : Final[Tuple[int, int]] = (1, 2)
  def forward(self: __torch__.net.Net, x: Tensor, flag: bool=False, o: Optional[List[int]]=None) -> Tensor:
    w = self.w
    _0 = __torch__.torch.nn.functional.relu
    if flag:
      a, b = x, w
    else:
      pass
    q, = [x]
    c : Optional[int] = 3
    for i in range(3):
      x0 = _0(x)
    while flag:
      flag = False
    with __torch__.G() as g:
      y = torch.add(x0, 1)
    self.n = 4
    torch._set_item(o, 0, 1)
    return y
def g(x: Tensor) -> Tensor:
  return x
