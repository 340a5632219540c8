# Each has its line, in the order given, however many are at work; one that fails does not stop the rest.
pt2onnx net.pt unsupported.pt scripted.pt missing.pt state_dict.pt -o out/ -j 1 > one 2> one.err
echo "exit $?"; cat one; cat one.err >&2; ls out
pt2onnx net.pt unsupported.pt scripted.pt missing.pt state_dict.pt -o again -j 4 > four 2> four.err
echo "exit $?"; sed 's,again/,out/,' four | cmp - one; cmp four.err one.err; cmp out/net.onnx again/net.onnx
