pt2onnx nothing.pt; echo $?
pt2onnx show nothing.pt
