pt2onnx check net.pt unsupported.pt scripted.pt
