#!/bin/sh
# tools/site.py --check notices each of the things that are wrong in the site made here, and nothing else; where .venv-docs is, the documents
# as they are become a site without a warning of mkdocs.
# usage: test_site.sh SOURCE_DIR
set -eu
top=$1
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
mkdir "$site/sub" "$site/full"
cat > "$site/index.html" <<'END'
<a href="sub/page.html#there">good</a> <a href="sub/">good</a> <a href="https://example.org">good</a> <a href="#here">good</a> <p id="here">
<a href="sub/page.html#gone">no anchor</a> <a href="none.html">no page</a> <a href="../outside.html">outside</a>
<script src="https://example.org/x.js"></script> <img src="sub/none.png"> <p style="background: url(//example.org/b.png)">
END
echo '<h1 id="there">x</h1><a href="../index.html#here">good</a>' > "$site/sub/page.html"
echo '<a href="page.html">good</a>' > "$site/sub/index.html"
echo '@import "https://example.org/f.css"; a { background: url(data:image/png;base64,x) }' > "$site/page.css"
if python3 "$top/tools/site.py" --check "$site" > "$site/said"; then
    echo "a site with mistakes passes"; exit 1
fi
cat > "$site/wanted" <<'END'
index.html: sub/page.html#gone has no such anchor
index.html: none.html leads nowhere
index.html: ../outside.html leads nowhere
index.html: loads https://example.org/x.js
index.html: sub/none.png leads nowhere
index.html: loads //example.org/b.png
page.css: loads https://example.org/f.css
3 pages, 7 wrong
END
diff "$site/wanted" "$site/said"
echo '<a href="index.html">good</a>' > "$site/full/index.html"
python3 "$top/tools/site.py" --check "$site/full"
mkdir "$site/none"
if python3 "$top/tools/site.py" --check "$site/none" > /dev/null; then
    echo "a site without pages passes"; exit 1
fi

for file in "$top"/docs/*.md "$top"/docs/*/*.md "$top"/docs/zh-CN/tutorials/*.md; do
    grep -q -e "- ${file#"$top"/docs/}\$" "$top/tools/mkdocs.yml" || { echo "$file is not in tools/mkdocs.yml"; exit 1; }
done

[ -x "$top/.venv-docs/bin/python" ] || exit 0
echo '<a href="#top" id="top">the converter</a>' > "$site/full/index.html"
"$top/.venv-docs/bin/python" "$top/tools/site.py" --converter "$site/full" --out "$site/built"
