# an unknown name does not keep the others back, and gives the exit code
pt2onnx ops aten::neg aten::no_such_thing aten::relu6
