pt2onnx chek net.pt
