pt2onnx net.pt -q -i 'x:float32[1,3]' --weights=external && echo net.onnx*
pt2onnx net.pt -q -i 'x:float32[1,3]' --weights=external -o -
