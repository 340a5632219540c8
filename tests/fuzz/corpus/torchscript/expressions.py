def f(x, y):
  return x
  return x.weight
  return x.a.b
  return (x).forward(y)
  return (x).forward(y, z=1)
  return torch.add(x, y, alpha=2)
  return ops.quantized.linear(x, y)
  return ops.aten.add.Tensor(x, y)
  return [1, 2]
  return []
  return ()
  return (x,)
  return (x, y)
  return {}
  return {"a": x, "b": y}
  return x[0]
  return (torch.size(x))[-1]
  return (x)[1:3]
  return annotate(List[Optional[Tensor]], [None, x])
  return unchecked_cast(Tensor, x)
  return uninitialized(Tuple[()])
  return isinstance(x, List[Tensor])
  return getattr(x, "0")
  return __torch__.a.f(x)
  return __torch__.C.__new__(__torch__.C)
  return __torch__.Color.RED
  return (__torch__.Color.RED).value
  return CONSTANTS.c12
  return int(x)
  return float(torch.item(x))
  return print(x, y)
  return -x
  return -(torch.add)(x)
  return True
  return False
  return None
  return fork(x)
  return (x and y)
  return ((x or y) and x)
  return x.for
  return x.class.in
