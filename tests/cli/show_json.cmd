pt2onnx show --json scripted.pt
# A program that cannot be converted is shown all the same, with the reason.
pt2onnx show --json unsupported.pt -q | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["error"], d["inputs"], d["outputs"], d["modules"])'
pt2onnx -q net.pt && pt2onnx show --json net.onnx | python3 -c 'import json, sys; d = json.load(sys.stdin); print({k: d[k] for k in d if k != "graph"})'
pt2onnx show --json state_dict.pt > failed; echo "exit $?"; sed 's/"seconds": [0-9.]*/"seconds": 0/' failed
