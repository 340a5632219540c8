pt2onnx net.pt --weights=lnk
