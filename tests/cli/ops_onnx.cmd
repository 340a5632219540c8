pt2onnx ops onnx::Relu; pt2onnx ops onnx::Rellu
