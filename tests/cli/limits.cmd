pt2onnx limits
