#!/bin/sh
# zlib.sh FOLDER - zlib's sources into FOLDER: Debian's source package, held against zlib.sha256.
#
# apt needs lines for sources, which most machines do not have: they are made of the lines for packages, in a place of
# our own, so that nothing of the machine changes. PT2ONNX_ZLIB names an archive that is there already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$1
[ ! -f "$to/inflate.c" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=${PT2ONNX_ZLIB:-}
if [ -z "$archive" ]; then
    mkdir -p "$work/lists/partial" "$work/parts"
    for file in /etc/apt/sources.list.d/debian*.sources /etc/apt/sources.list.d/ubuntu*.sources; do
        [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$work/parts/$(basename "$file")"
    done
    [ ! -f /etc/apt/sources.list ] || sed -n 's/^deb \(.*\)/deb-src \1/p' /etc/apt/sources.list >"$work/parts/old.list"
    set -- -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/parts" -o "Dir::State::Lists=$work/lists" \
        -o APT::Sandbox::User="$(id -un)" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    (cd "$work" && apt-get "$@" update >/dev/null && apt-get "$@" source --download-only zlib >/dev/null)
    archive=$(ls "$work"/zlib_*.orig.tar.*)
fi
sum=$(sha256sum <"$archive" | cut -d ' ' -f 1)
grep -q "^$sum " "$here/zlib.sha256" || {
    echo "zlib.sh: $(basename "$archive") is none of the archives in tools/zlib.sha256: $sum" >&2
    exit 1
}
mkdir -p "$to"
tar xf "$archive" -C "$to" --strip-components=1
