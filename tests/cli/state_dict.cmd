pt2onnx state_dict.pt
