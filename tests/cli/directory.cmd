mkdir folder.pt
pt2onnx folder.pt
