# web/viewer/view.html, which is committed, is what its sources give. usage: test_view_page.sh TOP ..; where npm has installed web/'s packages.
set -eu
cd "$1"
[ -d web/node_modules/esbuild ] && command -v node >/dev/null || { echo "web/node_modules is missing: not compared"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd web && node build.mjs --viewer "$work/view.html")
cmp "$work/view.html" web/viewer/view.html || { echo "make web-viewer writes another page"; exit 1; }
