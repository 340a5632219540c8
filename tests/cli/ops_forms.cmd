pt2onnx ops aten::size; pt2onnx ops len; pt2onnx ops prim::If; pt2onnx ops aten::view_copy; pt2onnx ops onnx::Placeholder
