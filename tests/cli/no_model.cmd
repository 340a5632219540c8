pt2onnx
