pt2onnx net.pt -i 'x:float32[1,3]' -i 'x:float32[2,3]'
