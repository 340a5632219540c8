#!/usr/bin/env python3
"""The site of `make docs`: README, docs/ and the converter as pages of mkdocs-material, checked.

    .venv-docs/bin/python tools/site.py [--converter web/dist]     build-docs/site, from build-docs/pages
    tools/site.py --check FOLDER                                   what is wrong with a site: links, anchors, things from elsewhere

README.md is the first page; docs/x.md is x.html. A link to a file that is no page (a source, an example) becomes its path as text. mkdocs
runs with --strict, so what it warns of is an error. --check reads the pages as a browser would and needs Python alone."""
import argparse
import html.parser
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^ *```")
ITEM = re.compile(r"( *)(?:[-*]|\d+\.) ")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
OTHER_LANGUAGE = re.compile(r"^\[(?:English|中文)\]\([^)]*\)(?: \| )?", re.M)      # the site has a menu for that
CONVERTER = {"en": """# Convert in the browser

<iframe src="convert/index.html?lang=en" title="pt2onnx" style="width: 100%; height: 80vh; border: 1px solid var(--md-default-fg-color--lightest)"></iframe>

[The converter in a window of its own](convert/index.html?lang=en). A file that is dropped there does not leave the machine: see [the page](web.md).
""", "zh-CN": """# 在浏览器里转换

<iframe src="../convert/index.html?lang=zh" title="pt2onnx" style="width: 100%; height: 80vh; border: 1px solid var(--md-default-fg-color--lightest)"></iframe>

[在单独的窗口里打开转换器](convert/index.html?lang=zh)。拖进去的文件不会离开这台机器：见[网页](web.md)。
"""}


# ---- pages ----

def page_of(path):
    """Where a document of the repository stands in the site, below its language; None: it is no page."""
    if path == "README.md":
        return "en/index.md"
    if path == "README.zh-CN.md":
        return "zh-CN/index.md"
    if path in ("CHANGELOG.md", "CONTRIBUTING.md"):
        return "en/" + path
    if path.startswith("docs/zh-CN/"):
        return path[len("docs/"):]
    return "en/" + path[len("docs/"):] if path.startswith("docs/") and not path.startswith("docs/data/") else None


def rewritten(text, path, there):
    """Links lead to pages of the same language, which are the English ones where there are no others; a list behind a line of text gets the empty line that Python's Markdown wants."""
    def link(m):
        picture, label, target = m.groups()
        if "://" in target or target.startswith("#"):
            return m[0]
        file, hash_, anchor = target.partition("#")
        at = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        page = page_of(at)
        if page and (TOP / at).is_dir():
            page = posixpath.join(page, sorted(p.name for p in (TOP / at).glob("*.md"))[0])
        if not page:
            return label if label.startswith("`") else f"{label} (`{at}`)"
        page, here = page.partition("/")[2], there.partition("/")[2]
        return f"{picture}[{label}]({posixpath.relpath(page, posixpath.dirname(here) or '.')}{hash_}{anchor})"

    text = OTHER_LANGUAGE.sub("", text, count=1)
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= bool(FENCE.match(line))
        before = lines[-1] if lines else ""
        if not fenced and ITEM.match(line) and before.strip() and not before.startswith((" ", "\t")) and not ITEM.match(before):
            lines.append("")
        lines.append(line if fenced or line.startswith("    ") else LINK.sub(link, line))
    return "\n".join(lines)


def write_pages(folder, converter):
    shutil.rmtree(folder, ignore_errors=True)
    documents = [TOP / name for name in ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md")] + sorted((TOP / "docs").rglob("*"))
    for file in documents:
        path = file.relative_to(TOP).as_posix()
        there = page_of(path)
        if not file.is_file() or not there:
            continue
        target = folder / there
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            target.write_text(rewritten(file.read_text(), path, there))
        else:
            shutil.copy(file, target)
    shutil.copytree(converter, folder / "en" / "convert")
    for language, text in CONVERTER.items():
        (folder / language / "converter.md").write_text(text)


# ---- what a browser would find ----

class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and its anchors."""
    LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "audio": "src", "video": "src", "object": "data", "embed": "src"}

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.anchors |= {a[k] for k in ("id", "name") if a.get(k)}
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        if tag == "link" and a.get("href") and a.get("rel") not in ("canonical", "alternate", "prev", "next"):
            self.loads.append(a["href"])
        if a.get(self.LOADS.get(tag, "-")):
            self.loads.append(a[self.LOADS[tag]])
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", a.get("style") or "")


def elsewhere(target):
    return target.startswith("//") or urllib.parse.urlsplit(target).scheme in ("http", "https", "ftp", "ws", "wss")


def wrong_with(site):
    """One line for each link that leads nowhere and each thing that is loaded from elsewhere."""
    pages = {p: Page(p.read_text(errors="replace")) for p in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site).as_posix()
        for target in page.links + page.loads:
            if elsewhere(target):
                if target in page.loads:
                    yield f"{here}: loads {target}"
                continue
            parts = urllib.parse.urlsplit(target)
            if parts.scheme:
                continue
            base = site if here == "404.html" or parts.path.startswith("/") else path.parent
            at = pathlib.Path(os.path.normpath(base / urllib.parse.unquote(parts.path.lstrip("/")))) if parts.path else path
            at = at / "index.html" if at.is_dir() else at
            if not at.is_file() or site not in at.parents:
                yield f"{here}: {target} leads nowhere"
            elif parts.fragment and at in pages and urllib.parse.unquote(parts.fragment) not in pages[at].anchors and "convert" not in at.parts:
                yield f"{here}: {target} has no such anchor"
    for path in sorted(site.rglob("*.css")):
        for target in re.findall(r"(?:url\(['\"]?|@import ['\"])([^'\")]+)", path.read_text(errors="replace")):
            if elsewhere(target):
                yield f"{path.relative_to(site).as_posix()}: loads {target}"


def check(site):
    wrong = list(wrong_with(site.resolve()))
    pages = len(list(site.rglob("*.html")))
    print("\n".join([*wrong, f"{pages} pages, {len(wrong)} wrong"]))
    return 1 if wrong or not pages else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--converter", type=pathlib.Path, default=TOP / "web" / "dist")
    p.add_argument("--out", type=pathlib.Path, default=TOP / "build-docs")
    p.add_argument("--check", type=pathlib.Path)
    a = p.parse_args()
    if a.check:
        return check(a.check)
    if not (a.converter / "index.html").exists():
        sys.exit(f"{a.converter}: the converter is not there: make web")
    out = a.out.resolve()
    write_pages(out / "pages", a.converter)
    configuration = (TOP / "tools" / "mkdocs.yml").read_text().replace("../build-docs", str(out))
    (out / "mkdocs.yml").write_text(configuration)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "0"}
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", out / "mkdocs.yml"], env=environment)
    return done.returncode or check(out / "site")


if __name__ == "__main__":
    sys.exit(main())
