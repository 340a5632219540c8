pt2onnx net.pt -i 'x:float32[1,3]' -o nowhere/net.onnx
