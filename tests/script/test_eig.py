"""torch.linalg.eig and eigvals. The order of eigenvalues and the phase of vectors are no one's to say: eigenvalues are compared as sets, and
vectors by A v = v w. Where eigenvalues are ill-conditioned, what is compared is how far they are from those of a matrix near A."""
import numpy
import onnxruntime
import pytest
import torch
from torch import nn

from scripted import oracle, save

BOUND = {torch.float32: 1e-4, torch.float64: 1e-8}
PRECISION = {torch.float32: 1.2e-7, torch.float64: 2.3e-16}
SIZES = [1, 2, 3, 4, 5, 7, 9, 12]


class Eig(nn.Module):
    def forward(self, a):
        values, vectors = torch.linalg.eig(a)
        return torch.view_as_real(values), torch.view_as_real(vectors), torch.view_as_real(torch.linalg.eigvals(a))


class ComplexEig(nn.Module):
    """A complex matrix whose parts are an input."""
    def forward(self, parts):
        a = torch.view_as_complex(parts)
        values, vectors = torch.linalg.eig(a)
        return torch.view_as_real(values), torch.view_as_real(vectors), torch.view_as_real(torch.linalg.eigvals(a))


def rotation(n):
    return torch.roll(torch.eye(n), 1, 0)


def jordan(n, value):
    return torch.eye(n) * value + torch.diag(torch.ones(n - 1), 1)


def similar(a):
    q = torch.linalg.qr(torch.randn(a.shape))[0]
    return q @ a @ q.T


def block(*parts):
    return torch.block_diag(*[torch.as_tensor(p, dtype=torch.float32) for p in parts])


def pairs(n):
    """Real matrices whose eigenvalues are complex pairs, and one that is real where n is odd."""
    turns = [[[a, b], [-b, a]] for a, b in torch.randn(n // 2, 2).tolist()]
    return similar(block(*turns, *[[[1.5]]] * (n % 2)))


def special(n):
    """Matrices that are known to be hard for an iteration, or whose eigenvectors do not span the space."""
    zeros = torch.zeros(n, n)
    ramp = torch.arange(1., n + 1)
    return {
        "zeros": zeros, "identity": torch.eye(n), "negative identity": -torch.eye(n), "ones": torch.ones(n, n), "ramp": torch.diag(ramp),
        "rotation": rotation(n), "rotation back": rotation(n).T, "two rotations": block(rotation(n - n // 2), rotation(n // 2)) if n > 1 else zeros,
        "jordan": jordan(n, 0), "jordan turned": jordan(n, 0).T, "jordan of two": jordan(n, 2), "hidden jordan": similar(jordan(n, 2)),
        "hidden nilpotent": similar(jordan(n, 0)), "repeated": similar(torch.diag(torch.div(ramp, 3, rounding_mode="floor"))), "pairs": pairs(n), "symmetric": similar(torch.diag(ramp)),
        "skew": torch.randn(n, n).triu(1) - torch.randn(n, n).triu(1).T, "upper": torch.randn(n, n).triu(), "lower": torch.randn(n, n).tril(),
        "rank one": torch.outer(torch.randn(n), torch.randn(n)), "graded": torch.randn(n, n) * 10. ** -ramp, "small": torch.randn(n, n) * 1e-20, "large": torch.randn(n, n) * 1e15,
        "companion": torch.diag(torch.ones(n - 1), -1) + torch.eye(n)[:, -1:] * torch.randn(n, 1), "markov": torch.softmax(torch.randn(n, n) * 3, 0),
        "blocks": block(torch.randn(n - n // 2, n - n // 2), torch.randn(n // 2, n // 2)) if n > 1 else zeros,
    }


def as_complex(pair):
    return pair[..., 0].astype(numpy.complex128) + 1j * pair[..., 1]


def sessions(path):
    """ONNX Runtime's default session, and one without optimisations."""
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return [onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]),
            onnxruntime.InferenceSession(str(path), plain, providers=["CPUExecutionProvider"])]


def distance(a, b):
    """The largest distance of a number in a from what is left of b, the nearest first: both are sets, with repetitions."""
    away = numpy.abs(a[:, None] - b[None, :])
    most = 0.
    for _ in range(len(a)):
        i, j = numpy.unravel_index(numpy.argmin(away), away.shape)
        most = max(most, away[i, j])
        away[i], away[:, j] = numpy.inf, numpy.inf
    return most


def judge(a, outputs, dtype, name="one"):
    """a: one matrix, complex128. outputs: eigenvalues and vectors of linalg.eig, the values of eigvals."""
    w, v, alone = outputs
    size = max(numpy.linalg.norm(a), 1e-300)
    residual = numpy.abs(a @ v - v * w).max(initial=0.) / size
    assert residual < BOUND[dtype], (name, residual)
    lengths = numpy.linalg.norm(v, axis=0)
    assert numpy.abs(lengths - 1).max(initial=0.) < BOUND[dtype], (name, lengths)
    n = len(a)
    want = numpy.linalg.eigvals(a)
    # an error e in a moves n-fold eigenvalues by e^(1/n)
    near = BOUND[dtype] if n < 2 or numpy.linalg.cond(numpy.linalg.eig(a)[1]) < 1e3 else 4 * (n * PRECISION[dtype]) ** (1 / n)
    for got in (w, alone):
        assert distance(got, want) / size < near, (name, got, want)


def run(session, a, dtype, names=None):
    """The outputs for a batch, judged. names: what its matrices are called."""
    outputs = [as_complex(y) for y in session.run(None, {session.get_inputs()[0].name: a.numpy()})]
    whole = a.double().numpy() if session.get_inputs()[0].name == "a" else torch.view_as_complex(a.double()).numpy()
    n = whole.shape[-1]
    flat = whole.reshape(-1, n, n) if n else []
    assert outputs[0].shape == whole.shape[:-1] and outputs[1].shape == whole.shape and outputs[2].shape == whole.shape[:-1]
    for i, one in enumerate(flat):
        judge(one, [outputs[0].reshape(-1, n)[i], outputs[1].reshape(-1, n, n)[i], outputs[2].reshape(-1, n)[i]], dtype, "%s of %d" % (names[i] if names else i, n))
    return outputs


def converted(module, tmp_path, spec, opset=18):
    out = tmp_path / ("%d.onnx" % opset)
    oracle.converted(save(module, tmp_path), out, "-i", spec, "--opset", str(opset))
    oracle.check(out)
    return out


OF = {torch.float32: "float32", torch.float64: "float64"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("opset", [9, 18, 23])
def test_batches_of_any_size(dtype, opset, tmp_path):
    """One model for random matrices and the special ones of each size: those of a batch converge at different times."""
    path = converted(Eig(), tmp_path, "a:%s[B,N,N]" % OF[dtype], opset)
    for session in sessions(path):
        for n in SIZES if opset == 18 else [1, 2, 5]:
            some = special(n)
            run(session, torch.stack(list(some.values())).to(dtype), dtype, list(some))
            run(session, torch.randn(20, n, n, dtype=dtype), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_batches_of_a_known_size(n, dtype, tmp_path):
    path = converted(Eig(), tmp_path, "a:%s[B,2,%d,%d]" % (OF[dtype], n, n))
    for session in sessions(path):
        for count in (0, 1, 3, 7):
            run(session, torch.randn(count, 2, n, n, dtype=dtype), dtype)


def test_one_matrix(tmp_path):
    path = converted(Eig(), tmp_path, "a:float64[N,N]")
    for session in sessions(path):
        for n in (1, 3, 8):
            run(session, torch.randn(n, n, dtype=torch.float64), torch.float64)


def test_no_rows(tmp_path):
    path = converted(Eig(), tmp_path, "a:float32[B,N,N]")
    for session in sessions(path):
        run(session, torch.zeros(2, 0, 0), torch.float32)
        run(session, torch.zeros(0, 3, 3), torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_complex_matrices(dtype, tmp_path):
    path = converted(ComplexEig(), tmp_path, "parts:%s[B,N,N,2]" % OF[dtype])
    for session in sessions(path):
        for n in (1, 2, 3, 6, 10):
            run(session, torch.randn(3, n, n, 2, dtype=dtype), dtype)
            q = torch.linalg.qr(torch.randn(n, n, dtype=torch.complex128))[0]
            for a in (torch.eye(n), jordan(n, 2), torch.diag(torch.arange(n) % 2.)):
                hidden = q @ a.to(torch.complex128) @ q.conj().T
                run(session, torch.view_as_real(hidden)[None].to(dtype), dtype)


def test_real_eigenvalues_of_real_matrices_are_real(tmp_path):
    """and so are their vectors, whose largest element is positive."""
    path = converted(Eig(), tmp_path, "a:float64[N,N]")
    for session in sessions(path):
        for n in (1, 2, 4, 8):
            q = torch.randn(n, n, dtype=torch.float64) + 3 * torch.eye(n)
            a = q @ torch.diag(torch.arange(1., n + 1).double()) @ torch.linalg.inv(q)
            w, v, alone = run(session, a, torch.float64)
            assert not w.imag.any() and not v.imag.any() and not alone.imag.any()
            assert (v.real[numpy.abs(v).argmax(0), numpy.arange(n)] > 0).all()


def test_what_pytorch_raises_for_is_no_number(tmp_path):
    path = converted(Eig(), tmp_path, "a:float32[B,3,3]")
    a = torch.randn(3, 3, 3)
    a[0, 1, 2], a[1, 2, 0] = torch.nan, torch.inf
    for session in sessions(path):
        w, v, alone = [as_complex(y) for y in session.run(None, {"a": a.numpy()})]
        assert numpy.isnan(w[:2]).all() and numpy.isnan(v[:2]).all() and numpy.isnan(alone[:2]).all()
        judge(a[2].double().numpy(), [w[2], v[2], alone[2]], torch.float32)
