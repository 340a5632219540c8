pt2onnx custom_counts.pt -i x:float32[N,3] -i y:float32[N,3] --unknown=custom
