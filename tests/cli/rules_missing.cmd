pt2onnx net.pt --rules my.rules
