"""torch.autograd.grad inside a forward: gradients of force fields and physics nets, by ONNX nodes, against torch."""
import hashlib
import importlib.util
import re
import subprocess
import sys
from typing import List

import onnx
import onnxruntime
import pytest
import torch
from torch import nn

import force_fields
import scripted
from gradient_cases import CASES, CHOICES, DERIVATIVES, RULES
from scripted import oracle

TOLERANCE = 1e-5


def plain_session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def recorded(module, tmp_path, runs):
    """The saved program, and what it gives for each run."""
    path = scripted.save(module, tmp_path)
    with torch.jit.optimized_execution(False):
        loaded = torch.jit.load(str(path))
        return path, [([x.numpy().copy() for x in xs], scripted.flat(loaded(*[x.clone() for x in xs]))) for xs in runs]


def agrees(out, wanted, tolerance=TOLERANCE):
    """In ONNX Runtime's default session and without optimisations."""
    oracle.check(out)
    for session in (oracle.session(out), plain_session(out)):
        for inputs, outputs in wanted:
            got = session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})
            oracle.compare(got, outputs, tolerance=tolerance)


def same(module, tmp_path, runs, *options, tolerance=TOLERANCE):
    """As scripted.same, to the tolerance of forces, and without optimisations too."""
    path, wanted = recorded(module, tmp_path, runs)
    done = oracle.converted(path, tmp_path / "model.onnx", *options)
    agrees(tmp_path / "model.onnx", wanted, tolerance)
    return done


def refused(module, tmp_path, *options):
    return scripted.refused(module, tmp_path, *options)


# ---- force fields: atoms and edges stay dynamic ----

SIZES = ["-i", "pos:float32[atoms,3]", "-i", "z:int64[atoms]", "-i", "edges:int64[2,edges]"]


@pytest.mark.parametrize("opset", [16, 18, 21, 23])
@pytest.mark.parametrize("net", [force_fields.NequIP, force_fields.SchNet], ids=lambda n: n.__name__)
def test_energy_and_forces(net, opset, tmp_path):
    torch.manual_seed(3)
    runs = [force_fields.molecule(n, seed=n) for n in (5, 2, 11, 23)]
    same(net(), tmp_path, runs, *SIZES, "--opset", str(opset))


def test_allegro_with_a_virial(tmp_path):
    torch.manual_seed(4)
    runs = []
    for n in (4, 9, 17):
        pos, z, edges = force_fields.molecule(n, seed=n)
        shifts = torch.randint(-1, 2, (edges.size(1), 3)).float() * 0.1
        runs.append((pos, z, edges, shifts, torch.eye(3) * 5 + 0.1 * torch.rand(3, 3)))
    same(force_fields.Allegro(), tmp_path, runs, *SIZES, "-i", "shifts:float32[edges,3]", "-i", "cell:float32[3,3]")


def test_forces_in_double(tmp_path):
    torch.manual_seed(5)
    runs = [(p.double(), z, e) for p, z, e in (force_fields.molecule(n, seed=n) for n in (4, 7))]
    sizes = ["-i", "pos:float64[atoms,3]", *SIZES[2:]]
    same(force_fields.NequIP().double(), tmp_path, runs, *sizes, tolerance=1e-7)


# ---- second derivatives ----

def test_residual_of_a_differential_equation(tmp_path):
    """u_t - u_xx of a network u(t, x)."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.u = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

        def forward(self, t, x):
            t.requires_grad_(True)
            x.requires_grad_(True)
            u = self.u(torch.stack([t, x], dim=1))[:, 0]
            first = torch.autograd.grad([u.sum()], [t, x], create_graph=True)
            u_t, u_x = first[0], first[1]
            assert u_t is not None and u_x is not None
            u_xx = torch.autograd.grad([u_x.sum()], [x])[0]
            assert u_xx is not None
            return u, u_t - u_xx
    torch.manual_seed(6)
    runs = [(torch.rand(n), torch.rand(n)) for n in (3, 1, 10)]
    same(Net(), tmp_path, runs, "-i", "t:float32[N]", "-i", "x:float32[N]")


def test_hessian_times_vector(tmp_path):
    class Net(nn.Module):
        def forward(self, x, v):
            x.requires_grad_(True)
            r = (x.unsqueeze(0) - x.detach().unsqueeze(1) - 1.0).norm(2, dim=-1)
            e = (r.pow(-2) + torch.exp(-r)).sum() + torch.softmax(x, 1).pow(3).sum()
            g = torch.autograd.grad([e], [x], create_graph=True)[0]
            assert g is not None
            hv = torch.autograd.grad([(g * v).sum()], [x])[0]
            assert hv is not None
            return g, hv
    torch.manual_seed(7)
    runs = [(torch.rand(n, 3), torch.rand(n, 3)) for n in (3, 6)]
    same(Net(), tmp_path, runs, "-i", "x:float32[N,3]", "-i", "v:float32[N,3]")


# ---- what requires a gradient ----

def test_a_leaf_counts_its_own_uses(tmp_path):
    """Not what was computed before, nor of equal contents, nor behind detach() or no_grad()."""
    class Net(nn.Module):
        def forward(self, x):
            before = x * 2
            x.requires_grad_(True)
            with torch.no_grad():
                none = x * 3
            h = x * 2
            twin = x * 2
            y = (h * twin * before * none * x.detach() * x.data * float(x.sum())).sum()
            gs = torch.autograd.grad([y], [x, h], retain_graph=True)
            g, gh = gs[0], gs[1]
            assert g is not None and gh is not None
            asked = [before.requires_grad, x.requires_grad, none.requires_grad, h.requires_grad, x.detach().requires_grad, g.requires_grad,
                     x.is_leaf, h.is_leaf]
            return g, gh, torch.tensor(asked)
    same(Net(), tmp_path, [(torch.rand(4),), (torch.rand(2),)], "-i", "x:float32[N]")


def test_views_and_writes(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            y = x.clone()
            row = y[1]
            row.mul_(3.0)
            y[:, 0] = x[:, 1] * x[:, 2]
            y[0].add_(x[1])
            y.t()[2].add_(row.sum())
            g = torch.autograd.grad([(y * y).sum()], [x])[0]
            assert g is not None
            return g
    same(Net(), tmp_path, [(torch.rand(n, 3),) for n in (2, 5)], "-i", "x:float32[N,3]")


def test_backward_adds_to_grad(tmp_path):
    class Net(nn.Module):
        def forward(self, x, w):
            x.requires_grad_(True)
            w.requires_grad_(True)
            (x * w).sum().backward()
            (x.sin() * 2).sum().backward()
            return x.grad, w.grad
    same(Net(), tmp_path, [(torch.rand(3), torch.rand(3))], "-i", "x:float32[N]", "-i", "w:float32[N]")


def test_unused_is_none_where_it_may_be(tmp_path):
    class Net(nn.Module):
        def forward(self, x, y):
            x.requires_grad_(True)
            y.requires_grad_(True)
            gs = torch.autograd.grad([x.sin().sum()], [x, y], allow_unused=True)
            g = gs[0]
            assert g is not None
            return g, gs[1] is None
    same(Net(), tmp_path, [(torch.rand(3), torch.rand(3))], "-i", "x:float32[N]", "-i", "y:float32[N]")


def test_sizes_that_broadcast_by_chance(tmp_path):
    """Which of the two is 1 only the running model knows: the gradient is summed over those axes."""
    class Net(nn.Module):
        def forward(self, x, y):
            x.requires_grad_(True)
            y.requires_grad_(True)
            gs = torch.autograd.grad([(x * y).sin().sum()], [x, y])
            a, b = gs[0], gs[1]
            assert a is not None and b is not None
            return a, b
    runs = [(torch.rand(n, 3), torch.rand(m, 3)) for n, m in ((4, 4), (1, 4), (4, 1), (1, 1))]
    same(Net(), tmp_path, runs, "-i", "x:float32[N,3]", "-i", "y:float32[M,3]")


# ---- what torch refuses, and what we do ----

class Wrong(nn.Module):
    def __init__(self, what: int):
        super().__init__()
        self.what = what

    def forward(self, x, y):
        x.requires_grad_(True)
        if self.what == 0:                                      # nothing requires it
            gs = torch.autograd.grad([y.sum()], [x])
        elif self.what == 1:                                    # unused
            y.requires_grad_(True)
            gs = torch.autograd.grad([x.sum()], [y])
        elif self.what == 2:                                    # no scalar
            gs = torch.autograd.grad([x * 2], [x])
        elif self.what == 3:                                    # a graph that was not made
            g = torch.autograd.grad([x.pow(3).sum()], [x])[0]
            assert g is not None
            gs = torch.autograd.grad([g.sum()], [x])
        elif self.what == 4:                                    # a leaf is written
            x.add_(1.0)
            gs = torch.autograd.grad([x.sum()], [x])
        else:
            gs = torch.autograd.grad([(x * y).sum()], [x, y])
        g = gs[0]
        assert g is not None
        return g


@pytest.mark.parametrize("what, text", list(enumerate([
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "appears to not have been used in the graph. Set allow_unused=True",
    "grad can be implicitly created only for scalar outputs",
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "a leaf Variable that requires grad is being used in an in-place operation",
    "element 1 of the input tensors does not require grad"])))
def test_torchs_own_errors(what, text, tmp_path):
    module = Wrong(what)
    with pytest.raises(RuntimeError, match=text[:40]):
        torch.jit.script(module)(torch.rand(3), torch.rand(3))
    assert text in refused(module, tmp_path, "-i", "x:float32[3]", "-i", "y:float32[3]")


def test_whole_numbers_have_no_gradient(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            return x.requires_grad_(True) + 1
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.jit.script(Net())(torch.tensor([1, 2]))
    assert "Only Tensors of floating point and complex dtype can require gradients" in refused(Net(), tmp_path, "-i", "x:int64[N]")


def test_a_branch_that_onnx_decides_is_refused(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            if bool(x.sum() > 0):
                y = x.sin()
            else:
                y = x * 2
            g = torch.autograd.grad([y.sum()], [x])[0]
            assert g is not None
            return g
    said = refused(Net(), tmp_path, "-i", "x:float32[N]")
    assert "torch.autograd.grad: the gradient of If is not known" in said
    assert "if bool(x.sum() > 0):" in said, said


def test_a_loop_that_onnx_runs_is_refused(tmp_path):
    class Net(nn.Module):
        def forward(self, x, n: int):
            x.requires_grad_(True)
            y = x
            for _ in range(n):
                y = y.sin()
            g = torch.autograd.grad([y.sum()], [x])[0]
            assert g is not None
            return g
    said = refused(Net(), tmp_path, "-i", "x:float32[N]", "-i", "n:int64[]")
    assert "torch.autograd.grad: the gradient of Loop is not known" in said
    assert "for _ in range(n):" in said, said


def test_an_operator_without_a_gradient_is_named(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            g = torch.autograd.grad([torch.cumprod(x, 0).sum()], [x])[0]
            assert g is not None
            return g
    said = refused(Net(), tmp_path, "-i", "x:float32[N]")
    assert "aten::cumprod: torch.autograd.grad: the gradient of Scan is not known" in said
    assert "torch.cumprod(x, 0)" in said


def test_an_operator_of_a_users_rule(tmp_path):
    """What a rule makes of ONNX's operators has a gradient; a node of a custom domain has none."""
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            g = torch.autograd.grad([torch.erfinv(x).sum()], [x])[0]
            assert g is not None
            return g
    rules = tmp_path / "mine.rules"
    rules.write_text("aten::erfinv(Tensor self) -> Tensor\n    = my.domain::ErfInv(self) as self\n")
    said = refused(Net(), tmp_path, "-i", "x:float32[N]", "--rules", str(rules))
    assert "aten::erfinv: torch.autograd.grad: the gradient of my.domain::ErfInv is not known" in said


# ---- every ONNX operator that has a gradient ----

def has_gradient(op):
    said = subprocess.run([oracle.PROGRAM, "ops", "onnx::" + op], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "gradient: yes" in said


def test_each_gradient_has_a_case():
    known = {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and has_gradient(s.name)}
    listed = set(CASES) | set(RULES)
    assert known == listed, "without a case: %s; without a gradient: %s" % (known - listed, listed - known)


def module_of(text, call, folder):
    """A module of this source, which torch.jit.script wants to see in a file."""
    name = "case_%s" % hashlib.md5((text + call).encode()).hexdigest()
    path = folder / (name + ".py")
    path.write_text("import torch\nimport torch.nn.functional as F\nfrom typing import List\n\n\nclass Net(torch.nn.Module):\n" + text % call)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Net()


FORWARD = """    def forward(self, x, y, w, i):
        return %s
"""
# A result's gradient differs from element to element; what the call does not use has none.
GRADIENTS = """    def forward(self, x, y, w, i):
        x.requires_grad_(True)
        y.requires_grad_(True)
        w.requires_grad_(True)
        out = %s
        found = torch.autograd.grad([(out * (0.3 + 0.7 * out.detach())).sum()], [x, y, w], allow_unused=True, create_graph=True)
        all: List[torch.Tensor] = [out]
        for g in found:
            if g is not None:
                all.append(g)
        return all
"""
CALLS = [(op, call, None) for op, calls in CASES.items() for call in calls] + [(op, *case) for op, cases in RULES.items() for case in cases]
CASE_SIZES = ["-i", "x:float32[N=2..64,4]", "-i", "y:float32[N=2..64,4]", "-i", "w:float32[4,4]", "-i", "i:int64[M=1..64]"]


def case_inputs(n, m):
    g = torch.Generator().manual_seed(10 * n + m)
    numbers = 0.1 + 0.8 * (torch.randperm(8 * n + 16, generator=g) + 0.5) / (8 * n + 16)
    return numbers[:4 * n].view(n, 4), numbers[4 * n:8 * n].view(n, 4), numbers[8 * n:].view(4, 4), torch.randint(0, n, (m,), generator=g)


@pytest.mark.parametrize("op, call, rule", CALLS, ids=["%s-%s" % c[:2] for c in CALLS])
def test_gradient(op, call, rule, tmp_path):
    """Against torch, at other sizes; at opset 9 or 13 the same or a refusal that names the opset that can."""
    options = list(CASE_SIZES)
    if rule:
        (tmp_path / "one.rules").write_text(rule + "\n")
        options += ["--rules", str(tmp_path / "one.rules")]
    forward = scripted.save(module_of(FORWARD, call, tmp_path), tmp_path)
    dump = oracle.convert(forward, tmp_path / "forward.onnx", *options, "--opset", "23", "--dump-after", "drop-unused")
    made = set(re.findall(r"= (\w+)[<(]", dump.stdout + dump.stderr))
    assert op == "Identity" or op in made, "%s makes %s" % (call, made)
    runs = [case_inputs(n, m) for n, m in ((3, 5), (6, 2))]
    path, wanted = recorded(module_of(GRADIENTS, call, tmp_path), tmp_path, runs)
    for opset in ("9", "13", "18", "23"):
        done = oracle.convert(path, tmp_path / "model.onnx", *options, "--opset", opset)
        if done.returncode:
            assert opset in ("9", "13") and "try: --opset" in done.stderr, done.stderr
        else:
            agrees(tmp_path / "model.onnx", wanted)


# ---- PyTorch operators that tell their derivative ----

def rows_with_a_derivative():
    """Name -> its description: what `pt2onnx ops` lists, where one of its rows or rules has the clause."""
    ask = lambda *what: subprocess.run([oracle.PROGRAM, "ops", *what], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = set(re.findall(r"(?m)^ +(aten::\w+)[.(]", ask()))
    return {n: d for n, d in ((n, ask(n)) for n in sorted(names)) if re.search(r"(?m)^ +derivative ", d)}


class Distances(nn.Module):
    """More than 25 points, each at a distance of 0 from itself."""
    def forward(self, x, y):
        x.requires_grad_(True)
        y.requires_grad_(True)
        d, e = torch.cdist(x, x), torch.cdist(x, y)
        found = torch.autograd.grad([(d * d.detach()).sum() + (e * e.detach()).sum() + d.sum() + e.sum()], [x, y])
        all: List[torch.Tensor] = [d, e]
        for g in found:
            if g is not None:
                all.append(g)
        return all


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_distances_of_many_points(dtype, tmp_path):
    """A distance of 0 is a hair, the root of what rounding leaves: 1e-8 of float64, 1e-4 of float32, and a gradient is divided by it."""
    g = torch.Generator().manual_seed(6)
    x, y = (torch.randn(n, 3, generator=g, dtype=getattr(torch, dtype)) for n in (30, 8))
    tolerance = 1e-6 if dtype == "float64" else 1e-2
    same(Distances(), tmp_path, [(x, y)], "-i", "x:%s[30,3]" % dtype, "-i", "y:%s[8,3]" % dtype, tolerance=tolerance)


class NarrowNorm(nn.Module):
    """float16 through a batch norm of float32, as in mixed precision."""
    def forward(self, x, w):
        x.requires_grad_(True)
        out = nn.functional.batch_norm(x.half(), w[0], w[1], w[2], w[3]).float()
        return out, torch.autograd.grad([(out * out.detach()).sum()], [x])[0]


def test_a_norm_of_a_wider_type(tmp_path):
    x, _, w, _ = case_inputs(3, 5)
    same(NarrowNorm(), tmp_path, [(x, w)], "-i", "x:float32[N,4]", "-i", "w:float32[4,4]", tolerance=2e-3)


class ConjugatedLeaf(nn.Module):
    def forward(self, x):
        z = torch.view_as_complex(x).detach()
        z.requires_grad_(True)
        part = z.imag.detach()
        return part, z.conj().imag.resolve_neg().detach(), torch.tensor([z.is_conj(), z.conj().is_conj(), z.conj().imag.is_neg(), part.is_neg()])


def test_a_complex_leaf_is_no_conjugate(tmp_path):
    """What makes a tensor a leaf is no operator, whose row could say that it conjugates."""
    same(ConjugatedLeaf(), tmp_path, [(torch.rand(3, 2),)], "-i", "x:float32[N,2]")


def test_each_derivative_has_a_case():
    rows = rows_with_a_derivative()
    told = {n for n, d in rows.items() if re.search(r"(?m)^ +derivative \w+ = [^\"]", d)}
    assert told == set(DERIVATIVES), "without a case: %s; without a clause: %s" % (told - set(DERIVATIVES), set(DERIVATIVES) - told)
    assert {"aten::cholesky", "aten::special_bessel_j0"} <= set(rows) - told


@pytest.mark.parametrize("name", sorted(DERIVATIVES))
def test_derivative(name, tmp_path):
    call, points = DERIVATIVES[name]
    x, y = (a.reshape(-1, 4) for a in torch.meshgrid(torch.tensor(points[:len(points) // 4 * 4]), torch.tensor(points[:len(points) // 4 * 4]), indexing="ij"))
    w, i = torch.rand(4, 4), torch.zeros(1, dtype=torch.int64)
    path, wanted = recorded(module_of(GRADIENTS, call, tmp_path), tmp_path, [(x, y, w, i)])
    for opset in ("13", "18", "23"):
        oracle.converted(path, tmp_path / "model.onnx", *CASE_SIZES, "--opset", opset)
        agrees(tmp_path / "model.onnx", wanted)


@pytest.mark.parametrize("call", CHOICES)
def test_a_choice_of_pytorch(call, tmp_path):
    x = torch.tensor([[2.0, 1.0, 2.0, 1.0], [3.0, 0.0, 2.0, 3.0], [1.5, 1.5, 1.5, 1.5]])
    y = torch.tensor([[2.0, 1.5, 3.0, 1.0], [3.0, 1.0, 0.0, 3.5], [0.5, 1.5, 1.0, 2.0]])
    path, wanted = recorded(module_of(GRADIENTS, call, tmp_path), tmp_path, [(x, y, torch.rand(4, 4), torch.tensor([0, 0, 1]))])
    for opset in ("13", "18", "23"):
        oracle.converted(path, tmp_path / "model.onnx", *CASE_SIZES, "--opset", opset)
        agrees(tmp_path / "model.onnx", wanted)


def test_the_pool_of_no_samples(tmp_path):
    """Of dynamic heights and widths ONNX Runtime's default session makes a -1 of the size again, which does for a batch of 1 and more."""
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            y = nn.functional.adaptive_max_pool2d(x, 1)
            g = torch.autograd.grad([y.pow(2).sum()], [x])[0]
            assert g is not None
            return y, g
    runs = [(torch.rand(n, 3, 4, 5),) for n in (2, 0, 1)]
    same(Net(), tmp_path, runs, "-i", "x:float32[N,3,4,5]")
    same(Net(), tmp_path, [runs[0], (torch.rand(2, 3, 1, 7),)], "-i", "x:float32[N,3,H=1..9,W=1..9]")


@pytest.mark.parametrize("call", ["F.embedding(i, x, scale_grad_by_freq=True)", "F.embedding_bag(i.unsqueeze(0), x, scale_grad_by_freq=True)"])
def test_scale_grad_by_freq_is_refused(call, tmp_path):
    said = refused(module_of(GRADIENTS, call, tmp_path), tmp_path, *CASE_SIZES)
    assert "scale_grad_by_freq=True of a table that requires a gradient" in said, said
    oracle.converted(scripted.save(module_of(FORWARD, call, tmp_path), tmp_path), tmp_path / "model.onnx", *CASE_SIZES)


def test_in_place_and_twice(tmp_path):
    """The call as it was before the write; and the derivative's own derivative."""
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            y = x * 2.0
            z = y.log1p_()
            y.mul_(3.0)
            g = torch.autograd.grad([(torch.atan2(z, x) * torch.sinc(x)).sum()], [x], create_graph=True)[0]
            assert g is not None
            h = torch.autograd.grad([g.pow(2).sum()], [x])[0]
            assert h is not None
            return g, h
    same(Net(), tmp_path, [(torch.rand(4) + 0.25,), (torch.rand(2) + 0.25,)], "-i", "x:float32[N]")


@pytest.mark.parametrize("call, name", [("torch.linalg.cholesky(w)", "aten::linalg_cholesky"), ("torch.cholesky(w)", "aten::cholesky")])
def test_a_row_that_says_there_is_none(call, name, tmp_path):
    said = refused(module_of(GRADIENTS, call, tmp_path), tmp_path, *CASE_SIZES)
    assert name + ": torch.autograd.grad: its derivative is not known" in said, said


def test_derivatives_that_are_operators_of_pytorch(tmp_path):
    """They have derivatives again: a rate of a negative binomial, and a Bessel function, twice."""
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            y = torch.lgamma(x + 2.0) - torch.lgamma(x) + torch.special.i0e(x) * torch.special.i1(x * 0.0 + x)
            g = torch.autograd.grad([y.sum()], [x], create_graph=True)[0]
            assert g is not None
            h = torch.autograd.grad([g.pow(2).sum()], [x])[0]
            assert h is not None
            return g, h
    same(Net(), tmp_path, [(torch.rand(4) + 0.25,), (torch.rand(2) * 3.0 + 0.25,)], "-i", "x:float32[N]")
    x = torch.rand(3) + 0.25
    rules = tmp_path / "mine.rules"
    rules.write_text("aten::lgamma(Tensor self) -> Tensor\n    derivative self = Mul(grad, aten::digamma(aten::abs(self)))\n    = my.domain::LogGamma(self) as self\n")
    class Once(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            g = torch.autograd.grad([torch.lgamma(x).sum()], [x])[0]
            assert g is not None
            return g
    same(Once(), tmp_path, [(x,)], "-i", "x:float32[N]", "--rules", str(rules))


def test_the_derivative_of_a_users_rule(tmp_path):
    rules = tmp_path / "mine.rules"
    rules.write_text("aten::erfinv(Tensor self) -> Tensor\n    derivative self = Mul(grad, Mul(Exp(Mul(result, result)), 0.886226925452758))\n"
                     "    let signed = Log(Mul(Sub(1, self), Add(self, 1)))\n    = Mul(self, Abs(signed))\n")
    class Net(nn.Module):
        def forward(self, x):
            x.requires_grad_(True)
            y = torch.erfinv(x)
            g = torch.autograd.grad([y.sum()], [x])[0]
            assert g is not None
            return g
    oracle.converted(scripted.save(Net(), tmp_path), tmp_path / "model.onnx", "-i", "x:float32[N]", "--rules", str(rules))
    x = torch.tensor([0.25, -0.5])
    result = x * torch.log((1 - x) * (1 + x)).abs()
    oracle.compare(oracle.session(tmp_path / "model.onnx").run(None, {"x": x.numpy()}), [(result.pow(2).exp() * 0.886226925452758).numpy()])
    rules.write_text(rules.read_text().replace("derivative self", "derivative other"))
    assert "mine.rules:1: 'derivative other': aten::erfinv has no such tensor" in refused_with_usage(Net(), tmp_path, "--rules", str(rules))


def refused_with_usage(module, tmp_path, *options):
    done = oracle.convert(scripted.save(module, tmp_path), tmp_path / "model.onnx", *options)
    assert done.returncode == 2, done.stderr
    return done.stderr
