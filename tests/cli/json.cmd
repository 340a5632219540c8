# not on Windows: a name there is UTF-16, and cannot hold the byte ff
# One line for each model, whatever becomes of it; times differ.
pt2onnx --json net.pt unsupported.pt missing.pt | sed 's/"seconds": [0-9.]*/"seconds": 0/'
pt2onnx --json net.pt -q -o quiet.onnx | sed 's/"seconds": [0-9.]*/"seconds": 0/'
pt2onnx check --json net.pt | sed 's/"seconds": [0-9.]*/"seconds": 0/'
# A name that is no text comes back as Python's os.fsencode makes it again.
cp net.pt "$(printf 'n\377\"\\.pt')"
pt2onnx --json -q n?*.pt | python3 -c '
import json, os, sys
for line in sys.stdin:
    r = json.loads(line)
    print(r["status"], os.fsencode(r["model"]), os.path.exists(os.fsencode(r["output"])))'
pt2onnx --json net.pt -o -
