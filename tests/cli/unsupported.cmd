pt2onnx unsupported.pt -i 'x:float32[2,2]'; echo $?; echo *.onnx
pt2onnx check unsupported.pt -i 'x:float32[2,2]'
