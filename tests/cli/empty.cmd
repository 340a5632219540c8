: > empty.pt
pt2onnx empty.pt
