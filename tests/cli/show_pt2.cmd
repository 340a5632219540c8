pt2onnx show net.pt2
