def f(x, y):
  def __forked_function0():
    z = torch.add(y, y)
    return z
  return fork(__forked_function0)
