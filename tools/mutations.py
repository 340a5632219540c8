"""The mistakes that tools/mutate makes: where in a source, how many characters, what instead, what it is.

Each is one that a person could make and a compiler takes. What says no result stays alone: comments, the sizes of arrays, the texts of
failures, loops over lists.
"""
import bisect
import functools
import re

# Operators of the same inputs and, mostly, result types.
PARTNERS = [("Add", "Sub"), ("Mul", "Div"), ("Greater", "Less"), ("GreaterOrEqual", "LessOrEqual"), ("And", "Or"), ("Max", "Min"),
            ("ReduceMax", "ReduceMin"), ("ReduceSum", "ReduceMean"), ("Floor", "Ceil"), ("Sin", "Cos"), ("Exp", "Log"), ("Abs", "Neg"),
            ("ArgMax", "ArgMin"), ("Sqrt", "Reciprocal"), ("Softmax", "LogSoftmax"), ("Relu", "Softplus"), ("Sinh", "Cosh"), ("Squeeze", "Unsqueeze"),
            ("ReduceL1", "ReduceL2"), ("MaxPool", "AveragePool"), ("GatherElements", "GatherND"), ("Sigmoid", "Tanh")]
PARTNER = {**dict(PARTNERS), **{b: a for a, b in PARTNERS}}
# The order of these arguments matters.
ORDERED = "Sub|Div|Pow|Mod|Less|Greater|LessOrEqual|GreaterOrEqual|MatMul"
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}

# Lines that say no result.
IDLE = re.compile(r"\benum\b|#|MAX_RANK|\[\]|\{ 0 \}|need_rank|new_array|op_fail|op_refuse|fail\(|\bwhile \(|\bfor \(size_t"
                  r"|^\s*(?:Ox|Dim|int|int64_t|double|Value) \w+\[\d+\];")
ROW = re.compile(r"\b[A-Z_]+\((?:\w+, )?$")
# A statement that sets what was there before, alone on its line or lines.
ASSIGNED = re.compile(r"(?m)^ +((?:\*?[a-z][\w.\[\]>-]*) (?:[+*|&-]?=)\s[^;{}]+;)$")
CHARACTER = re.compile(r"'(?:\\.|[^'\\])'")
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[\w.]+|->|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|\S')


@functools.lru_cache(maxsize=8)
def first_lines(code):
    """Where the lines of a C source begin that do not continue the one before, which has an open bracket or no end yet."""
    starts, at, depth, goes_on = [], 0, 0, False
    for line in code.split("\n"):
        size = len(line) + 1
        line = CHARACTER.sub("' '", line)
        if not goes_on or line.startswith("#"):
            starts.append(at)
            depth = 0
        depth += line.count("(") + line.count("[") - line.count(")") - line.count("]")
        ends = line.rstrip()
        goes_on = depth > 0 or ends.endswith((" =", "&&", "||", " ?", " +", " -", " *", " /"))
        at += size
    return starts


def line_of(code, at):
    """The line, with those that it is wrapped into."""
    starts = first_lines(code)
    i = bisect.bisect_right(starts, at)
    return code[starts[i - 1]:starts[i] - 1 if i < len(starts) else len(code)]


def starts_line(code, at):
    starts = first_lines(code)
    begin = code.rfind("\n", 0, at) + 1
    return starts[bisect.bisect_right(starts, at) - 1] == begin


def tokens(text):
    """What a formatter leaves alone: the words and signs of a C source without its comments."""
    return TOKEN.findall(code_of(text)[0])


def code_of(text):
    """The text with comments blanked, and with strings blanked too: same length."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0))
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    return plain, re.sub(r'"(?:\\.|[^"\\\n])*"', blank, plain)


def operators(plain, quote):
    for m in re.finditer(quote + r"([A-Z]\w+)" + (quote or r"(?=[(<])"), plain):
        if m.group(1) in PARTNER:
            yield m.start(1), len(m.group(1)), PARTNER[m.group(1)], "another operator"


def numbers(code):
    for m in re.finditer(r"(?<![\w.\[])(\d+(?:\.\d+)?)(?![\w.\]])", code):
        if not IDLE.search(line_of(code, m.start())):
            flag = m.group(0) == "1" and ROW.search(code[:m.start()])   # 1 and 2 are both yes where a row's datum is a flag
            more = "0" if flag else repr(float(m.group(0)) + 1) if "." in m.group(0) else str(int(m.group(0)) + 1)
            yield m.start(), len(m.group(0)), more, "a constant off by one"


def closing(code, at):
    """Where the bracket closes inside which `at` is."""
    depth = 1
    while at < len(code):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            break
        at += 1
    return at


def conditions(text, code):
    flat = CHARACTER.sub(lambda m: " " * len(m.group(0)), code)
    for m in re.finditer(r"\bif \((?!!?ox_ok|!\w+\)|!need_rank|!arg_)", code):
        end = closing(flat, m.end())
        if code[end:end + 2] == ")\n":
            yield m.end(), end - m.end(), "!(%s)" % text[m.end():end], "a condition turned round"
    for m in re.finditer(r" (<=|>=|<|>|==|!=)\s", code):
        if not re.search(r"\bfor \(", line_of(code, m.start())) and not IDLE.search(line_of(code, m.start())):
            yield m.start(1), len(m.group(1)), COMPARED[m.group(1)], "a comparison changed"
    for m in re.finditer(r" (&&|\|\|)\s+(?!\s|ox_ok|at\b|b\b)", code):
        if not re.search(r"\bfor \(|ox_ok|ctx_failed", line_of(code, m.start())) and not IDLE.search(line_of(code, m.start())):
            yield m.start(1), 2, "||" if m.group(1) == "&&" else "&&", "and for or"


def promotions(pattern, plain):
    """always-bool is default's other name, for the reader: to compare large ints as floats is the mistake there."""
    for m in re.finditer(pattern, plain):
        yield m.start(1), len(m.group(1)), "int-to-float" if m.group(1) == "always-bool" else "default", "promotion of another kind"


def in_c(text):
    plain, code = code_of(text)
    yield from operators(plain, '"')
    yield from numbers(code)
    yield from conditions(text, code)
    for m in re.finditer(r'(ox\(op, "(?:%s)",\s+)(\w+),\s+(\w+)\)' % ORDERED, plain):
        yield m.start(2), m.end(3) - m.start(2), "%s, %s" % (m.group(3), m.group(2)), "arguments swapped"
    for m in re.finditer(r"ox_cast\((?:op->g|g),\s+(\w+),\s+[\w>()\-. ]+?\)(?=[;,)])", code):
        yield m.start(), len(m.group(0)), m.group(1), "a cast dropped"
    for m in re.finditer(r"(?<=[\w)\]]) ([+-])\s+(?=[\w(])", code):
        if not IDLE.search(line_of(code, m.start())):
            yield m.start(1), 1, "-" if m.group(1) == "+" else "+", "a sign changed"
    for m in re.finditer(r"(?<=[ (,])(true|false)(?=[,)])", code):
        if not IDLE.search(line_of(code, m.start())):
            yield m.start(1), len(m.group(1)), "false" if m.group(1) == "true" else "true", "yes for no"
    for m in ASSIGNED.finditer(code):
        if starts_line(code, m.start(1)) and not IDLE.search(line_of(code, m.start(1))):
            yield m.start(1), len(m.group(1)), ";", "a line dropped"
    yield from promotions(r'"(int-to-float|always-bool|bool-to-long)\(', plain)


def in_rules(text):
    code = re.sub(r"#[^\n]*", lambda m: " " * len(m.group(0)), text)
    body = re.sub(r"(?m)^\S[^\n]*", lambda m: " " * len(m.group(0)), code)         # heads stay
    yield from operators(body, "")
    for m in re.finditer(r"(?<![\w.\[])(\d+(?:\.\d+)?)(?![\w.\]])", body):
        if "opset" not in body[body.rfind("\n", 0, m.start()) + 1:m.start()]:
            yield m.start(), len(m.group(0)), repr(float(m.group(0)) + 1) if "." in m.group(0) else str(int(m.group(0)) + 1), "a constant off by one"
    for m in re.finditer(r"\b(?:%s)\((\w+), (\w+)\)" % ORDERED, body):
        yield m.start(1), len(m.group(1) + ", " + m.group(2)), "%s, %s" % (m.group(2), m.group(1)), "arguments swapped"
    for m in re.finditer(r"\bcast\((\w+), [\w()]+?\)+", body):
        whole = m.group(0)
        while whole.count("(") < whole.count(")"):
            whole = whole[:-1]
        yield m.start(), len(whole), m.group(1), "a cast dropped"
    for m in re.finditer(r"\bwhen (?=[a-z(])", body):
        if body[m.end():m.end() + 4] != "not ":
            yield m.end(), 0, "not ", "a condition turned round"
        else:
            yield m.end(), 4, "", "a condition turned round"
    for m in re.finditer(r"(?m)^ +(when \S.*)\n", body):
        yield m.start(1), len(m.group(1)), "", "a line dropped"
    yield from promotions(r"\bpromote (int-to-float|always-bool|bool-to-long)\(", body)


def of_file(path, text):
    """All of them, in order of their place."""
    found = in_rules(text) if path.endswith(".rules") else in_c(text)
    return sorted(set(found), key=lambda s: (s[0], s[1], s[2]))
