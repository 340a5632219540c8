"""page.py - a comparison as one HTML page: verdict, place, the error along the model, modules."""
import html
import math

WIDE, HIGH, LOWEST = 960, 240, -9       # of the plot; errors below 10^LOWEST are drawn there

STYLE = """
:root { color-scheme: light dark; --line: #8886; --mark: #c33; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; }
pre, td, th { font: 13px/1.5 ui-monospace, monospace; } pre { overflow-x: auto; }
table { border-collapse: collapse; } td, th { padding: .15em .8em; text-align: right; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child { text-align: left; }
svg { width: 100%; height: auto; } circle { fill: currentColor; opacity: .6; } .first { fill: var(--mark); opacity: 1; }
"""


def page(c):
    """The page of a Comparison, as text."""
    parts = ["<h1>%s</h1>" % escaped(c.verdict), "<p>%s</p>" % escaped(c.path), c.hint and "<p>%s</p>" % escaped(c.hint), block("\n".join(map(str, c.outputs)))]
    if c.first and c.why != "same":
        parts += ["<h2>The first place where they part</h2>", block(c.first)]
    parts += ["<h2>The error along the model</h2>", plot(c), "<h2>Modules</h2>", modules(c)]
    return "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>%s</title>" \
        "<style>%s</style>\n%s\n</html>\n" % (escaped(c.path), STYLE, "\n".join(parts))


def escaped(text):
    return html.escape(str(text))


def block(text):
    return "<pre>%s</pre>" % escaped(text)


def plot(c):
    """A point for each node that has a value of torch's beside it: its number, and the logarithm of its relative error."""
    if not c.errors:
        return "<p>no values to compare</p>"
    last = max(i for i, e in c.errors) or 1
    lines = ["<svg viewBox='-60 -10 %d %d' role=img aria-label='relative error of each node'>" % (WIDE + 80, HIGH + 50)]
    for power in range(LOWEST, 2, 2):
        y = height(10.0 ** power)
        lines.append("<line x1=0 x2=%d y1=%.1f y2=%.1f stroke='var(--line)'/><text x=-8 y=%.1f text-anchor=end font-size=12 fill=currentColor>1e%d</text>"
                     % (WIDE, y, y, y + 4, power))
    marked = c.first.index if c.first and c.why != "same" else None
    for index, error in c.errors:
        lines.append("<circle cx=%.1f cy=%.1f r=%d%s><title>node %d: %.2g</title></circle>" %
                     (WIDE * index / last, height(error), 5 if index == marked else 2, " class=first" if index == marked else "", index, error))
    return "\n".join(lines + ["</svg>"])


def height(error):
    power = math.log10(error) if 0 < error < math.inf else LOWEST if not error > 0 else 1
    return HIGH * (1 - min(max(power, LOWEST), 1)) / (1 - LOWEST)


def modules(c):
    rows = ["<tr><td>%s<td>%s<td>%s<td>%s" % (escaped(name or "(the model)"), cell(e, "%.2g"), cell(t, "%.3f", 1e3), cell(o, "%.3f", 1e3))
            for name, (e, t, o) in c.modules.items()]
    return "<table><tr><th>module<th>error, of the largest<th>torch, ms<th>ONNX Runtime, ms\n%s</table>" % "\n".join(rows)


def cell(x, form, times=1):
    return "" if x is None else form % (x * times)
