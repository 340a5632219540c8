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
    page=${file#"$top"/docs/}
    grep -q -e "- ${page#zh-CN/}\$" "$top/tools/mkdocs.yml" || { echo "$file is not in tools/mkdocs.yml"; exit 1; }
done

python=$top/.venv-docs/bin/python
"$python" -c 'import jieba, mkdocs_static_i18n' 2>/dev/null || exit 0
echo '<a href="#top" id="top">the converter</a>' > "$site/full/index.html"
"$python" "$top/tools/site.py" --converter "$site/full" --out "$site/built"

# Of each page there is a Chinese one with a Chinese interface, in Chinese or not, and a menu that leads to the same page in the other language.
built=$site/built/site
for page in limits.html embedding.html tutorials/page.html; do
    for word in '<html lang="zh"' 'placeholder="搜索"' '教程' '开发' 'href="[./]*'"$page"'" hreflang="en"'; do
        grep -q "$word" "$built/zh-CN/$page" || { echo "zh-CN/$page: no $word"; exit 1; }
    done
    grep -q '<html lang="en"' "$built/$page" && grep -q 'href="[./]*zh-CN/'"$page"'" hreflang="zh-CN"' "$built/$page" || { echo "$page: not as it was"; exit 1; }
done
# The converter in it speaks the language of the page.
grep -q 'src="convert/index.html?lang=en"' "$built/converter.html" && grep -q 'src="../convert/index.html?lang=zh"' "$built/zh-CN/converter.html" ||
    { echo "the converter is not told the language of the page"; exit 1; }
# Chinese words can be searched for: they are told apart.
"$python" -c 'import json, sys; sys.exit(not any("动态\u200b" in d["title"] + d["text"] for d in json.load(open(sys.argv[1]))["docs"]))' "$built/search/search_index.json" ||
    { echo "the words of Chinese pages are not told apart"; exit 1; }
