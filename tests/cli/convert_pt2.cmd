pt2onnx net.pt2 -v --no-sandbox && echo *.onnx && pt2onnx show net.onnx
