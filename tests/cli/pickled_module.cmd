pt2onnx module.pt
