# What an earlier run has left beside the model, and this one does not use.
pt2onnx net.pt --weights=external -i 'x:float32[1,3]'; ls net.onnx*
pt2onnx net.pt -i 'x:float32[1,3]'; ls net.onnx*
