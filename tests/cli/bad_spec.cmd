pt2onnx net.pt -i x:flot32[N,3]
