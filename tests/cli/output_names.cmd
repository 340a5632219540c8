pt2onnx net.pt -q -i 'x:float32[1,3]' --output-names result && pt2onnx show net.onnx | grep -A1 outputs
pt2onnx net.pt -q -i 'x:float32[1,3]' --output-names a,a
