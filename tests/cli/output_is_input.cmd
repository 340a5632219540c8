# not on Windows: symbolic links, which wine follows by itself
# Nothing that is read is replaced: by its own name, as the weights' file, through links, a rule file.
pt2onnx() { command pt2onnx -q "$@"; echo $?; }
cp net.pt y.onnx.data
pt2onnx y.onnx.data --weights=external -o y.onnx
ln y.onnx.data hard.onnx
pt2onnx y.onnx.data -o hard.onnx
ln -s y.onnx.data z.onnx.data
pt2onnx y.onnx.data --weights=external -o z.onnx
cmp net.pt y.onnx.data && rm hard.onnx z.onnx.data && ls *.onnx*
# The weights are in the model itself: the file beside it is only read.
pt2onnx y.onnx.data -o y.onnx
cmp net.pt y.onnx.data && ls *.onnx*
echo '# no rules' > custom.rules
pt2onnx net.pt --rules custom.rules -o custom.rules
cat custom.rules
# The model and its weights would have one name.
ln -s w.onnx.data w.onnx
pt2onnx net.pt --weights=external -o w.onnx
# Nor another model of the call, whatever their order.
mkdir both
cp net.pt both/a.pt
cp net.pt both/a.onnx.data
pt2onnx both/a.pt both/a.onnx.data --weights=external
pt2onnx both/a.onnx.data both/a.pt
cmp net.pt both/a.onnx.data && ls both
pt2onnx both/a.pt both/a.onnx.data --weights=inline && ls both
