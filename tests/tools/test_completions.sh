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
    expect '--mode =' s saved
    expect '--mode' = 'eval saved'
    expect help we weights
    expect net.pt --keep-w '--keep-weights'
    expect --rules no notes.txt
    expect --opset '' ''

    # PowerShell itself is not run, Debian has none: its table must offer, for each option and command, the words that bash offers
    sed -n "s/^ *@{ Name = '\([^']*\)'; .*Words = @(\([^)]*\)).*/\1 \2/p" powershell | tr -d "',\r" > rows
    [ "$(grep -c . rows)" -ge "$(grep -c . options)" ]
    while read -r name words; do
        [ -z "$words" ] || expect "$name" '' "$words"
    done < rows
    for name in --mode --state --weights-type help completions; do
        grep -q "^$name [a-z]" rows || { echo "PowerShell: nothing is offered after $name"; exit 1; }
    done
fi

# zsh completes on a terminal only: what a line becomes after the tab key
if command -v zsh >/dev/null; then
    mkdir functions && cp zsh functions/_pt2onnx
    cat > ask.zsh <<'ASK'
zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal 'PS1=; fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D; echo re""ady'
zpty -r -m terminal said '*ready*'
while read -r line becomes; do
    zpty -w -n terminal "pt2onnx ${line//_/ }"$'\t'
    zpty -r -m terminal said "*pt2onnx ${becomes//_/ }*"
    zpty -w -n terminal $'\C-u'
    echo "$line"
done
ASK
    cat > lines <<'LINES'
che check
net.pt_--mode=s net.pt_--mode=saved
--state_d --state_defaults
net.pt_--keep-w net.pt_--keep-weights
help_we help_weights
completions_p completions_powershell
check_mo check_models
--rules_no --rules_notes.txt
-ono -onotes.txt
LINES
    timeout 20 zsh ask.zsh < lines > answered || { echo "zsh: the line after this one is not completed: $(tail -1 answered)"; exit 1; }
fi

if command -v fish >/dev/null; then
    expect() {
        got=$(fish --no-config -c "source ./fish; complete -C 'pt2onnx $1'" | cut -f1 | sort | tr '\n' ' ')
        [ "$got" = "$2 " ] || { echo "fish: after '$1': $got, expected: $2"; exit 1; }
    }
    expect che check
    expect 'help we' weights
    expect 'completions po' powershell
    expect '--mode=' '--mode=eval --mode=saved'
    expect '--state d' defaults
    expect '--keep-w' '--keep-weights'
    expect '--rules no' notes.txt
fi
pt2onnx help man > pt2onnx.1
! command -v groff >/dev/null || { groff -man -Tutf8 -ww -z pt2onnx.1 > said 2>&1; [ ! -s said ] || { cat said; exit 1; }; }
# roff writes a hyphen that may be copied as \-
sed 's/\\-/-/g' pt2onnx.1 > plain
while read -r option; do
    grep -q -e "--$option" plain || { echo "--$option is missing in the man page"; exit 1; }
done < options
