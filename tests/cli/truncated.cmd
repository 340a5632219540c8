# a download cut short, and one that is still being written
head -c 2000 net.pt > cut.pt
pt2onnx cut.pt; echo $?
head -c 40 net.pt > start.pt
pt2onnx start.pt
