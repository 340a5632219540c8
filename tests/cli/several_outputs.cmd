# What cannot be is refused before any work.
mkdir other && cp net.pt other
pt2onnx -q net.pt other/net.pt -o out/; echo "exit $?"
mkdir same && cp net.pt same && cp net.pt same/net.pth && pt2onnx -q same/net.pt ./same//net.pth; echo "exit $?"; rm -r same
pt2onnx -q net.pt scripted.pt -o -; echo "exit $?"
pt2onnx -q net.pt scripted.pt -o scripted.pt; echo "exit $?"
pt2onnx -q net.pt scripted.pt -o none/there; echo "exit $?"
ls
# One model too may go into a folder, and several lie beside their models.
pt2onnx -q net.pt -o other && pt2onnx -q other/net.pt scripted.pt && ls other scripted.onnx
