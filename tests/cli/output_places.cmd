# not on Windows: symbolic links, /dev/null and FIFOs
# Each is right, or refused before the work: the model that is read here is refused only later.
pt2onnx() { command pt2onnx -q "$@"; echo $?; }
pt2onnx unsupported.pt -o ''
n=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn; n=$n$n$n$n$n
pt2onnx unsupported.pt -o ${n}123456
pt2onnx unsupported.pt --weights=external -o ${n}1
pt2onnx net.pt --weights=external -o $n && ls nnn* | wc -c
rm nnn*
pt2onnx unsupported.pt -o none/net.onnx
mkdir folder
mkdir folder.onnx.data
pt2onnx unsupported.pt --weights=external -o folder.onnx
# A link to nothing stays a link.
ln -s folder/real.onnx link.onnx
pt2onnx net.pt -o link.onnx; ls -F folder; test -L link.onnx && echo a link
# A pipe gets the model as it comes; it has no file beside it.
mkfifo pipe
cat pipe > piped.onnx &
pt2onnx net.pt -o pipe; wait; cmp piped.onnx folder/real.onnx
pt2onnx unsupported.pt --weights=external -o pipe
mkfifo beside.onnx.data
pt2onnx net.pt -o beside.onnx && ls beside*
pt2onnx unsupported.pt --weights=external -o beside.onnx
pt2onnx unsupported.pt --weights=external -o -
