pt2onnx net.pt -q -i 'x:float32[1,3]' && head -c 150 net.onnx > cut.onnx && pt2onnx show cut.onnx
