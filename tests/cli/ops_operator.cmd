pt2onnx ops aten::gelu; pt2onnx ops aten::asinh_; pt2onnx ops aten::to_sparse
