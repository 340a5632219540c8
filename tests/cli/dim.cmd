pt2onnx two.pt2 --model encoder --dim s77=rows -o a.onnx && pt2onnx show a.onnx
pt2onnx two.pt2 --model encoder --dim s78=rows -o a.onnx; echo $?
pt2onnx two.pt2 --model encoder --dim s77=4 -o a.onnx; echo $?
pt2onnx two.pt2 --model encoder --dim s77=rows --dim s77=n -o a.onnx; echo $?
pt2onnx two.pt2 --model decoder/fast --dim s77=rows -o a.onnx; echo $?
