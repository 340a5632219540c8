pt2onnx net.pt2 -v && echo *.onnx && pt2onnx show net.onnx
