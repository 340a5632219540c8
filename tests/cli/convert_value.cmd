pt2onnx scripted.pt -i 'x:float32[1,3]' -i scale=3 -q && pt2onnx show scripted.onnx
