echo "import torch" > net.py
pt2onnx net.py
