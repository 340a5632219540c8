pt2onnx net.pt -i 'x:float32[N,3]' && echo *.onnx && pt2onnx show net.onnx
