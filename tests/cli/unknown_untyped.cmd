pt2onnx custom.pt -i x:float32[N,3] -i y:float32[N,3] --unknown=custom
