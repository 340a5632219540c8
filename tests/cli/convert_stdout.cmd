pt2onnx net.pt -i 'x:float32[N,3]' -o - > a.onnx && pt2onnx net.pt -i 'x:float32[N,3]' -o b.onnx && cmp a.onnx b.onnx && echo *.onnx
