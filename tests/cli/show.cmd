pt2onnx show scripted.pt
