mkdir sub
pt2onnx net.pt -q -i 'x:float32[1,3]' --weights=link -o sub/net.onnx
pt2onnx net.pt -q -i 'x:float32[1,3]' --weights=link && echo *.onnx
