pt2onnx net.pt --dump-after legalize; echo *.onnx
