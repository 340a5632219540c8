# the model raises for any rank but 2: a fact, no assumption about the rank
pt2onnx scripted.pt
