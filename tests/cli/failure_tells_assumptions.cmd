# a wrong assumption: the option that decides it stands beside the failure
pt2onnx scripted.pt
