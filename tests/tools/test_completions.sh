#!/bin/sh
# Completions and the man page, as the shells and roff that are installed here understand them.
# usage: test_completions.sh SOURCE_DIR LIBRARY, which lies in the folder of the build
set -eu
build=$(cd "$(dirname "$2")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p models bin && touch net.pt net.pt2 notes.txt
ln -s "$build/pt2onnx" bin/pt2onnx
PATH=$folder/bin:$PATH
for shell in bash zsh fish powershell; do pt2onnx completions $shell > $shell; done

# every option of --help is in each of them
pt2onnx --help | sed -n 's/^ .*--\([a-z-]*\).*/\1/p' | sort -u > options
while read -r option; do
    grep -q -e "--$option" bash && grep -q -e "--$option" zsh && grep -q -e "-l $option" fish && grep -q -e "--$option" powershell ||
        { echo "--$option is missing in a completion"; exit 1; }
done < options

# what bash offers: expect 'WORDS BEFORE' 'WORD' 'OFFERED'
if command -v bash >/dev/null; then
    cat > ask <<'ASK'
source ./bash
COMP_WORDS=(pt2onnx $1 "$2"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_pt2onnx
echo "${COMPREPLY[*]}"
ASK
    expect() {
        got=$(bash ask "$1" "$2")
        [ "$got" = "$3" ] || { echo "bash: after '$1', '$2': $got, expected: $3"; exit 1; }
    }
    expect '' che check
    expect '' net 'net.pt net.pt2'
    expect check net.pt2 net.pt2
    expect --state i io
    expect '--mode' '' 'eval saved'
    expect help we weights
    expect net.pt --keep-w '--keep-weights'
    expect --rules no notes.txt
    expect --opset '' ''
fi
! command -v zsh >/dev/null || zsh -n zsh
! command -v fish >/dev/null || fish --no-execute fish
pt2onnx help man > pt2onnx.1
! command -v groff >/dev/null || { groff -man -Tutf8 -ww -z pt2onnx.1 > said 2>&1; [ ! -s said ] || { cat said; exit 1; }; }
# roff writes a hyphen that may be copied as \-
sed 's/\\-/-/g' pt2onnx.1 > plain
while read -r option; do
    grep -q -e "--$option" plain || { echo "--$option is missing in the man page"; exit 1; }
done < options
