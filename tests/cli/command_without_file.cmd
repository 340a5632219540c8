pt2onnx check
