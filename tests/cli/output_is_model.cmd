cp net.pt net.onnx
pt2onnx net.onnx; echo $?
cmp net.pt net.onnx
