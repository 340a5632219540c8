"""What judges a source: the tests that would notice a mistake in it. tools/mutate breaks sources and asks these."""
import glob
import os

# Families of sources that have no operator cases of their own name. Generated tables are left out.
WHOLE = ("binding", "tidy", "eval")
BINDING = ["src/ops/%s.c" % n for n in ("args", "bind", "dispatch", "promote", "schema", "table")]
GENERATED = ("ort_kernels.c",)
# What a call alone cannot show, as results whose rank differs between runs: tests of programs that judge the family too.
PROGRAMS = {"view": ["tests/script/test_ranks.py", "tests/package/test_squeeze.py"], "embedding": ["tests/script/test_quantised.py"],
            "quantized": ["tests/script/test_quantised.py"], "quantized_layers": ["tests/script/test_quantised.py"],
            "search": ["tests/package/test_export.py::test_runs_along_a_dim_are_not_held_against_what_torch_export_records", "tests/script/test_records.py"],
            "create": ["tests/script/test_lists.py::test_tensors_of_empty_lists"],
            "normalization": ["tests/script/test_state.py::test_statistics_move_where_training_is_asked_for"]}
# What judges the interpreter before ctest does: tests of programs, by the beginning of a source's name. All of them would take too long.
LISTS, LANGUAGE = ["lists", "inner_lists", "columns"], ["language", "builtins", "objects", "script"]
SCRIPTS = {"branch_run": ["optional", "places", "assumed"], "branch": ["script", "optional", "assumed", "regions"], "builtin": LANGUAGE + ["sort"],
           "condition": ["assumed", "open_dicts"], "carry": ["loops", "inside_loops", "optional"], "choice": ["choice"], "c10_dtype": ["language"], "heap": ["mutation", "objects"],
           "join": ["choice", "optional", "objects", "ranks", "assumed", "open_dicts"], "layout": ["layouts"], "liveness": ["optional", "places"],
           "loop": ["loops", "inside_loops", "places", "lists", "left_in_lists", "mutation"], "dynamic_dict": ["open_dicts"], "dynamic_parts": LISTS, "higher_order": ["regions"],
           "stacked": LISTS + ["sort", "state_grows"], "state": ["state", "state_grows"], "tensor": ["mutation", "ranks", "layouts"],
           "recorded": ["records", "exported_numbers"], "loop_known": ["loops", "inside_loops"], "loop_unroll": ["loops", "regions"], "value": ["language", "mutation"], "inputs": ["script", "bounds", "guessed_ranks"],
           "outputs": ["script", "ranks"], "facts": ["script", "guessed_ranks", "assumed"], "": LANGUAGE}
# And the passes.
FOUND = ["python/found"]
PASSES = {"find_col2im": ["columns"], "split_complex": ["ranks"], "drop": ["python/slices"], "find": FOUND, "legal": ["python/legalise"],
          "modules": ["package/functions"], "legal_types": ["python/legalise", "ranks"], "": ["python/legalise", "python/slices"]}


def below(top, pattern):
    return sorted(os.path.relpath(f, top) for f in glob.glob(os.path.join(top, pattern), recursive=True))


def families(top):
    """Those of the operator cases, then those of WHOLE."""
    return [os.path.basename(f)[:-len(".txt")] for f in below(top, "tests/ops/*.txt")] + list(WHOLE)


def sources(top, family):
    """The files of a family."""
    if family == "eval":
        return below(top, "src/value/*.c") + below(top, "src/eval/**/*.c")
    if family == "tidy":
        return [f for f in below(top, "src/tidy/**/*.c") + below(top, "src/tidy/**/*.rules") if os.path.basename(f) not in GENERATED]
    if family == "binding":
        return BINDING
    return below(top, "src/ops/**/%s.c" % family) + below(top, "src/ops/**/%s.rules" % family)


def by_beginning(subjects, path):
    """Tests of programs of the longest beginning of the file's name."""
    name = os.path.basename(path)
    return [test_file(s) for s in subjects[max((p for p in subjects if name.startswith(p)), key=len)]]


def test_file(subject):
    folder, _, name = subject.rpartition("/")
    return "tests/%s/test_%s.py" % (folder or "script", name)
