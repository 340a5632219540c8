pt2onnx custom.pt2 -q --unknown=custom && pt2onnx show custom.onnx; pt2onnx custom_lists.pt2 -q --unknown=custom -o lists.onnx && pt2onnx show lists.onnx
