pt2onnx scripted.pt -i 'x:float32[1,3]' -q
