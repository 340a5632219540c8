pt2onnx custom.pt2
