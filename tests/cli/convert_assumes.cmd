pt2onnx net.pt; echo $?
pt2onnx -q net.pt; echo $?
