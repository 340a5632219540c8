pt2onnx net.pt --limit recrods=3; pt2onnx net.pt --limit records=many
