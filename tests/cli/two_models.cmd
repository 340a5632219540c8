pt2onnx net.pt scripted.pt
