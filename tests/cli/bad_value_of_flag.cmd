pt2onnx net.pt --dynamic=yes
