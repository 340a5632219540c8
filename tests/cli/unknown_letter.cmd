pt2onnx -x net.pt
