def f(x, y):
  a = x + y * 2 - 1
  b = -x ** 2
  c = x < y and not x == 3 or y
  d = x not in y
  e = 1 << 2 | y // 3 % 4
  return (a is not b)
