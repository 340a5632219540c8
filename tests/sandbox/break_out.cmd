# pt2onnx is here the build of break_out.c. Where the kernel lacks something, -v says so, and nothing is tested.
pt2onnx() { command pt2onnx net.pt -i 'x:float32[1,3]' "$@"; }
if pt2onnx -v -o kernel.onnx 2>&1 | grep -q 'the sandbox is without'; then
    printf '%s: Operation not permitted\n' open fork connect >&2
else
    pt2onnx -o inside.onnx
fi
echo outside >&2
pt2onnx --no-sandbox -o outside.onnx
cmp kernel.onnx outside.onnx
