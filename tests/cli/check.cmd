pt2onnx check net.pt -i 'x:float32[1,3]' && echo *.onnx
