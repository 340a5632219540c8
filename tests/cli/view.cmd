# The page has the model, the file's name and the lines of source; nothing else is written.
pt2onnx view net.pt -i x:float32[N,3]; ls net.*
grep -o 'id="name">[^<]*' net.html
# What the page has is the model without its weights, and the same for the .onnx that was written.
model() { sed -n 's/.*id="model">\([^<]*\)<.*/\1/p' "$1" | base64 -d; }
model net.html > in_page.onnx
pt2onnx show in_page.onnx
pt2onnx -q net.pt -i x:float32[N,3] && pt2onnx view net.onnx -o folder.html
model folder.html | cmp - net.onnx && echo the same: its weights are small
mkdir pages
pt2onnx view net.pt2 -o pages && ls pages
pt2onnx view net.pt -i x:float32[N,3] -o - | cmp - net.html && echo the same on standard output
# Nothing is written where it cannot be.
pt2onnx view unsupported.pt 2>/dev/null; echo $?; ls unsupported.*
pt2onnx view net.onnx -o net.onnx; echo $?
head -c 100 net.onnx > cut.onnx
pt2onnx view cut.onnx; echo $?; ls cut.*
