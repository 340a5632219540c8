for topic in inputs weights state operators messages; do pt2onnx help $topic; echo; done
pt2onnx help | cmp - "$(pt2onnx --help > all; echo all)"
pt2onnx help wieghts; echo "exit $?"
pt2onnx completions tcsh; echo "exit $?"
