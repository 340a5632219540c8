pt2onnx net.pt --opset=new
