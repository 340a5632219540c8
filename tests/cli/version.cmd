pt2onnx --version
