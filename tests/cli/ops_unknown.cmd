pt2onnx ops aten::no_such_thing
