pt2onnx net.pt --opst 18
