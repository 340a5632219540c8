pt2onnx --help
