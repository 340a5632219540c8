def f():
  return "abc