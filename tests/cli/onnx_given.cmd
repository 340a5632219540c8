cp net.pt net2.pt
pt2onnx -q net2.pt && pt2onnx net2.onnx -o again.onnx; echo $?
echo *.onnx
