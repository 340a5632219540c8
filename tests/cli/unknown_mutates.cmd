pt2onnx custom_counts.pt2 --unknown=custom
