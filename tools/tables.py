"""tables - those of measured figures in documents: each stands between two comments, and is filled from a file of docs/data."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parent.parent


def line(*cells):
    return "| " + " | ".join(cells) + " |"


def rule(count):
    """The line below the head of a table of so many columns."""
    return "|" + "---|" * count


def put(page, lines, mark, check, remedy):
    """`lines` between <!-- mark --> and <!-- /mark --> of the page. False: check, and it has another, or there are no comments."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    text = page.read_text()
    now = re.sub(f"{begin}\n.*?{end}", lambda m: f"{begin}\n{lines}\n{end}", text, flags=re.S)
    good = begin in text and end in text and not (check and now != text)
    if not good:
        print(f"{page.relative_to(TOP)}: its table is not that of {remedy}")
    elif not check:
        page.write_text(now)
    return good
