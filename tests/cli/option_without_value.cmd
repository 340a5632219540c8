pt2onnx net.pt --opset
