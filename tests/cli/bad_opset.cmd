pt2onnx net.pt --opset 8; echo *.onnx
