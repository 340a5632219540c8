pt2onnx show unsupported.pt
