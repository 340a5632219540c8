pt2onnx -h
