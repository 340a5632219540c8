"""python -m pt2onnx SCRIPT [ARGS] - runs a script, unchanged, with torch.onnx's exporter replaced by pt2onnx.
python -m pt2onnx compare .. - finds where a model in ONNX Runtime gives other numbers than in torch."""
import os
import runpy
import sys


def main(argv):
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: python -m pt2onnx SCRIPT [ARGS]\n"
              "       python -m pt2onnx compare MODEL [NET.onnx] [ARG..]\n\n"
              "Runs SCRIPT with torch.onnx replaced by pt2onnx, whichever release of torch it was written for.\n"
              "compare (a script of that name is written ./compare) finds the first place where a model in ONNX Runtime\n"
              "gives other numbers than in torch; compare --help says more.\n"
              "The program `pt2onnx` converts saved models.", file=sys.stdout if argv else sys.stderr)
        return 0 if argv else 2
    if argv[0] == "compare":
        try:
            from .comparison.command import main as compare
        except ModuleNotFoundError as e:
            print("pt2onnx: compare needs torch, onnx, onnxruntime and numpy, of which %s is missing here" % e.name, file=sys.stderr)
            return 2
        return compare(argv[1:])
    if not os.path.exists(argv[0]):
        print("pt2onnx: %s: there is no such script" % argv[0], file=sys.stderr)
        return 2
    try:
        from .installing import install
    except ModuleNotFoundError as e:
        print("pt2onnx: %s: running a script needs PyTorch, of which %s is missing here" % (argv[0], e.name), file=sys.stderr)
        return 2
    install()
    sys.argv[:] = argv
    sys.path[0] = os.path.dirname(os.path.abspath(argv[0]))
    runpy.run_path(argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
