"""reporting.py - report=True: one Markdown page beside the model: what was converted, assumptions, operators, times, verification."""
import os

from . import _capi

TITLES = ("Assumed", "Added", "Dropped", "Changed", "Told")


def page_beside(path):
    """Where the page of the model goes: m.md for m.onnx, and m.md.md for a model that is called m.md itself."""
    page = os.path.splitext(path)[0] + ".md"
    return path + ".md" if page == path else page


def operators(text):
    """{operator: count} from the graph as text: `%4: float32[1,3] = Conv<..>(..)`."""
    counts = {}
    for line in text.splitlines():
        head, sep, right = line.partition(" = ")
        if sep and head.lstrip().startswith("%"):
            name = right.split("(")[0].split("<")[0].strip()
            counts[name] = counts.get(name, 0) + 1
    return counts


def table(rows):
    return "\n".join("| %s | %s |" % r for r in rows)


def render(what, settings, size, text, notes, times, verification):
    """what: one line that says what the model is."""
    parts = ["# %s" % what,
             "| | |\n|---|---|\n" + table([("opset", settings.opset_version), ("bytes", size), ("by", "pt2onnx")]
                                          + [("time, %s" % name, "%.3f s" % seconds) for name, seconds in times])]
    counts = sorted(operators(text).items(), key=lambda item: (-item[1], item[0]))
    parts.append("## Operators\n\n| operator | nodes |\n|---|---|\n" + table(counts))
    for kind in range(len(_capi.NOTE_WORDS)):
        said = [t for k, t in notes if k == kind]
        if said:
            parts.append("## %s\n\n" % TITLES[kind] + "\n".join("- " + t for t in said))
    parts.append("## Verification\n\n" + ("```\n%s\n```" % verification if verification else "Not asked for: `verify=True`."))
    return "\n\n".join(parts) + "\n"
