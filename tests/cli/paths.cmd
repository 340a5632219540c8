# Spaces, Chinese, and more than 300 characters, which Windows gives only to who asks for them.
long=$(printf 'x%.0s' $(seq 100))
folder="模型 of today/$long/$long/$long"
mkdir -p "$folder" && cp net.pt "$folder/网络 1.pt"
pt2onnx -q "$folder/网络 1.pt" -i 'x:float32[1,3]' && ls "$folder"
pt2onnx -q net.pt -i 'x:float32[1,3]' -o "$folder/数字.onnx" --weights=external && ls "$folder"
pt2onnx -q net.pt scripted.pt -i 'x:float32[1,3]' -o "$folder" -j 2 && ls "$folder"
pt2onnx show "$folder/数字.onnx" | head -1
pt2onnx "$folder/没有.pt"; echo "exit $?"
