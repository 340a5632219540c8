pt2onnx two.pt2 -o a.onnx; echo $?
pt2onnx two.pt2 --model decoder -o a.onnx; echo $?
pt2onnx net.pt --model forward -o a.onnx; echo $?
pt2onnx two.pt2 --model decoder/fast -o a.onnx && pt2onnx show a.onnx
