"""The sentence of each refusal of a call: what was expected, what came, what to do; and nothing is touched."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "modules"))

import kernels

import ferrule as fr
from ferrule import errors

N = 4


def arrays():
    return np.arange(float(N)), np.ones(N), np.full(N, 7.0)


def frozen():
    out = np.full(N, 7.0)
    out.flags.writeable = False
    return out


def odd_address():
    return np.zeros(8 * N + 1, "u1")[1:].view("f8")


class Broken:
    def __repr__(self):
        raise RuntimeError("no text")

    def __dlpack__(self, **_):
        raise RuntimeError("no tensor")


class Liar:
    @property
    def __array_interface__(self):
        return {"shape": (10**9,), "typestr": "<f8", "data": (0, False), "version": 3}


MADE = "but float64 is expected; the program writes it, so make an array of that dtype."
SIGNATURE = "the signature is add3(a: float64[N], b: float64[N], out: float64[N])."

# (what to put in place of which argument, class, sentence after "add3(): ")
BAD_ARRAYS = [
    (
        "b",
        np.ones(N, "i4"),
        errors.UserTypeError,
        "'b' has dtype int32, but float64 is expected; pass b.astype('float64').",
    ),
    ("out", np.ones(N, "f4"), errors.UserTypeError, f"'out' has dtype float32, {MADE}"),
    (
        "a",
        np.ones(N, ">f8"),
        errors.UserTypeError,
        "'a' has dtype >f8 in foreign byte order, but native float64 is expected; pass a.astype('float64').",
    ),
    (
        "a",
        np.ones(N, object),
        errors.UserTypeError,
        "'a' has dtype object, but float64 is expected; pass a.astype('float64').",
    ),
    ("a", np.zeros(N, "U3"), errors.UserTypeError, "'a' has dtype <U3, but float64 is expected."),
    ("a", np.zeros(N, "S3"), errors.UserTypeError, "'a' has dtype |S3, but float64 is expected."),
    (
        "a",
        np.zeros(N, "M8[s]"),
        errors.UserTypeError,
        "'a' has dtype datetime64[s], but float64 is expected.",
    ),
    (
        "a",
        np.zeros(N, "m8[s]"),
        errors.UserTypeError,
        "'a' has dtype timedelta64[s], but float64 is expected.",
    ),
    ("a", np.zeros(N, "V8"), errors.UserTypeError, "'a' has dtype |V8, but float64 is expected."),
    (
        "a",
        np.zeros(N, "g"),
        errors.UserTypeError,
        "'a' has dtype float128, but float64 is expected; pass a.astype('float64').",
    ),
    (
        "a",
        np.zeros(N, [("a", "f8")]),
        errors.UserTypeError,
        "'a' has dtype [('a', '<f8')], but float64 is expected.",
    ),
    ("b", np.ones(3), errors.UserValueError, "'N': a.shape[0] = 4, but b.shape[0] = 3."),
    ("a", np.ones(3), errors.UserValueError, "'N': a.shape[0] = 3, but b.shape[0] = 4."),
    (
        "out",
        np.ones((1, N)),
        errors.UserValueError,
        "'out' has rank 2 and shape (1, 4), but rank 1 and shape (N,) are expected.",
    ),
    (
        "a",
        np.array(1.0),
        errors.UserValueError,
        "'a' has rank 0 and shape (), but rank 1 and shape (N,) are expected.",
    ),
    (
        "out",
        frozen(),
        errors.UserValueError,
        "'out' is read-only, but the program writes to it; pass a writable array.",
    ),
    (
        "a",
        np.ones(2 * N)[::2],
        errors.UserValueError,
        "'a' must be contiguous in C order with strides (8,) bytes, but its strides are (16,) bytes; "
        "pass numpy.ascontiguousarray(a), or declare order='any'.",
    ),
    (
        "a",
        np.zeros(N, [("a", "u1"), ("b", "f8")])["b"],
        errors.UserValueError,
        None,
    ),
    (
        "b",
        odd_address(),
        errors.UserValueError,
        None,
    ),
    (
        "a",
        np.ma.masked_array(np.ones(N)),
        errors.UserTypeError,
        "'a' is a masked array, whose mask would be ignored; pass a.filled(value).",
    ),
    (
        "a",
        [1.0] * N,
        errors.UserTypeError,
        "'a' is a list, but an array of dtype float64 is expected; pass numpy.asarray(a, 'float64').",
    ),
    (
        "a",
        (1.0,) * N,
        errors.UserTypeError,
        "'a' is a tuple, but an array of dtype float64 is expected; pass numpy.asarray(a, 'float64').",
    ),
    (
        "a",
        range(N),
        errors.UserTypeError,
        "'a' is a range, but an array of dtype float64 is expected; pass numpy.asarray(a, 'float64').",
    ),
    (
        "a",
        None,
        errors.UserTypeError,
        "'a' is None, but an array of dtype float64 is expected.",
    ),
    ("out", b"bytes" * 8, errors.UserTypeError, None),
    ("a", "text", errors.UserTypeError, "'a' is a str, but an array of dtype float64 is expected."),
    ("a", {}, errors.UserTypeError, "'a' is a dict, but an array of dtype float64 is expected."),
    ("a", np.ndarray, errors.UserTypeError, None),
    ("a", 1.0, errors.UserTypeError, "'a' is a float, but an array of dtype float64 is expected."),
    ("a", np.float64(1.0), errors.UserTypeError, None),
    ("a", Broken(), errors.UserBufferError, None),
    ("a", Liar(), errors.UserBufferError, None),
    ("a", memoryview(b"x" * 32), errors.UserTypeError, None),
    ("a", (i for i in range(3)), errors.UserTypeError, None),
]


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("name", "bad", "kind", "sentence"), BAD_ARRAYS)
def test_array_refusals(name, bad, kind, sentence, by_name):
    add3 = kernels.kernel("add3.c")
    given = dict(zip(("a", "b", "out"), arrays()))
    out = given["out"]
    given[name] = bad
    with pytest.raises(errors.Error) as info:
        add3(**given) if by_name else add3(*given.values())
    assert type(info.value) is kind
    text = str(info.value)
    if sentence is None:
        assert text.startswith(f"add3(): '{name}' ")
        assert text.endswith(".")
    else:
        assert text == f"add3(): {sentence}"
    assert (out == 7.0).all()


def test_packed_record_names_stride_and_item():
    shift = kernels.kernel("noalias.c")
    packed = np.zeros(4, [("a", "u1"), ("b", "f8")])
    aligned = np.frombuffer(bytearray(9 * 4 + 16), "u1")
    start = -aligned.ctypes.data % 8
    field = np.ndarray(4, "f8", aligned[start:].data, 0, (9,))
    for x in (field, packed["b"] if packed["b"].ctypes.data % 8 == 0 else field):
        with pytest.raises(
            ValueError, match="'a' has stride 9 bytes along axis 0, which is no multiple of its item size 8"
        ):
            shift(x, np.zeros(4))
    good = np.zeros(4, [("a", "f8"), ("b", "f8")])["b"]
    good[:] = 5
    out = np.zeros(4)
    shift(good, out)
    assert (out == 5).all()


def test_misalignment_and_stride_zero():
    shift = kernels.kernel("noalias.c")
    with pytest.raises(ValueError, match=r"'a' is not aligned: it begins 1 byte past .* pass a\.copy\(\)"):
        shift(odd_address(), np.zeros(N))
    cell = np.zeros(1)
    y = np.lib.stride_tricks.as_strided(cell, (3,), (0,))
    with pytest.raises(
        ValueError, match=r"'out' is written, but elements of it share memory: shape \(3,\), strides \(0,\)"
    ):
        shift(np.ones(3), y)
    assert cell[0] == 0
    out = np.zeros(5)
    shift(np.broadcast_to(2.0, (5,)), out)
    assert (out == 2).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda f, a, b, o: f(), f"'a' is missing; {SIGNATURE}"),
        (lambda f, a, b, o: f(a, b), f"'out' is missing; {SIGNATURE}"),
        (lambda f, a, b, o: f(a, out=o), f"'b' is missing; {SIGNATURE}"),
        (lambda f, a, b, o: f(a, b, o, a=a), f"'a' is given twice, by position and by name; {SIGNATURE}"),
        (lambda f, a, b, o: f(a, b, o, n=5), f"there is no argument 'n'; {SIGNATURE}"),
        (
            lambda f, a, b, o: f(a, b, o, o),
            f"4 arguments are given by position, but at most 3 are expected; {SIGNATURE}",
        ),
        (
            lambda f, a, b, o: f(a, b, o, N=4.0),
            "'N' is a float, but an integer of type int64 is expected; pass int(N).",
        ),
    ],
)
def test_argument_list_refusals(call, sentence):
    add3 = kernels.kernel("add3.c")
    a, b, out = arrays()
    with pytest.raises(errors.UserTypeError) as info:
        call(add3, a, b, out)
    assert str(info.value) == f"add3(): {sentence}"
    assert (out == 7.0).all()


def test_sizes_beyond_64_bits():
    add3 = kernels.kernel("add3.c")
    a, b, out = arrays()
    with pytest.raises(errors.UserOverflowError) as info:
        add3(a, b, out, N=2**70)
    assert str(info.value) == "add3(): 'N' = 1180591620717411303424 is out of range for int64."
    assert (out == 7.0).all()


def test_explicit_sizes_are_compared():
    add3 = kernels.kernel("add3.c")
    a, b, out = arrays()
    for n in (3, 5, -4):
        with pytest.raises(ValueError) as info:
            add3(a, b, out, N=n)
        assert str(info.value) == f"add3(): 'N': a.shape[0] = 4, but N = {n} was given."
    add3(a, b, out, N=4)
    np.testing.assert_array_equal(out, a + b)


def test_a_size_that_only_the_caller_knows():
    function = kernels.kernel("static_hidden.c")
    with pytest.raises(TypeError, match="'axis' is missing"):
        function(np.ones(2), K=1)


def test_shapes_and_guards():
    pairs = kernels.kernel("extents.c")
    a, b, c = np.zeros(8), np.zeros((4, 3), "f4"), np.zeros(10, np.int64)
    for arguments, sentence in (
        ((np.zeros(7), b[:3], c), "'a' has shape (7,), but (2*N,) is expected: no 'N' makes 2*N = 7."),
        ((a, b[:3], c), "'N': a.shape[0] = 8 (2*N), but b.shape[0] = 3."),
        ((a, b, c[:5]), "'c' has shape (5,), but (10,) is expected."),
        ((a, b, np.zeros(11, np.int64)), "'c' has shape (11,), but (10,) is expected."),
        (
            (a, b, c.reshape(2, 5)),
            "'c' has rank 2 and shape (2, 5), but rank 1 and shape (10,) are expected.",
        ),
        ((a, b[:, :0], c), "the program needs b.shape[1] >= 1, but M = 0."),
    ):
        with pytest.raises(errors.UserValueError) as info:
            pairs(*arguments)
        assert str(info.value) == f"pairs(): {sentence}"


@pytest.mark.parametrize(
    ("name", "bad", "kind", "sentence"),
    [
        ("i32", 2**31, OverflowError, "'i32' = 2147483648 is out of range for int32."),
        ("i32", -(2**31) - 1, OverflowError, "'i32' = -2147483649 is out of range for int32."),
        ("i32", np.int64(2**31), OverflowError, "'i32' = np.int64(2147483648) is out of range for int32."),
        ("i32", 2**200, OverflowError, None),
        ("u8", 256, OverflowError, "'u8' = 256 is out of range for uint8."),
        ("u8", -1, OverflowError, "'u8' = -1 is out of range for uint8."),
        ("u64", 2**64, OverflowError, "'u64' = 18446744073709551616 is out of range for uint64."),
        ("u64", -1, OverflowError, "'u64' = -1 is out of range for uint64."),
        ("i64", 2**63, OverflowError, None),
        ("i64", 2.5, TypeError, "'i64' is a float, but an integer of type int64 is expected; pass int(i64)."),
        ("i64", 2.0, TypeError, "'i64' is a float, but an integer of type int64 is expected; pass int(i64)."),
        (
            "i64",
            np.float32(3),
            TypeError,
            "'i64' is a float32, but an integer of type int64 is expected; pass int(i64).",
        ),
        ("i64", float("nan"), TypeError, None),
        ("i64", np.array(2.0), TypeError, None),
        (
            "i64",
            np.array([2]),
            TypeError,
            "'i64' is an ndarray of dtype int64 and shape (1,), but an integer of type int64 is expected; pass i64.item().",
        ),
        ("i64", True, TypeError, "'i64' is a bool, but an integer of type int64 is expected; pass int(i64)."),
        ("i64", np.True_, TypeError, None),
        ("i64", None, TypeError, "'i64' is None, but an integer of type int64 is expected."),
        ("i64", "3", TypeError, None),
        ("b", 1, TypeError, "'b' is an int, but a bool is expected; pass bool(b)."),
        ("b", np.int8(1), TypeError, None),
        ("b", "x", TypeError, None),
        ("f64", True, TypeError, None),
        ("f64", np.True_, TypeError, None),
        (
            "f64",
            1j,
            TypeError,
            "'f64' is a complex, but a real number of type float64 is expected; pass f64.real.",
        ),
        ("f64", "x", TypeError, None),
        ("f64", 2**2000, OverflowError, None),
        ("f64", np.longdouble(1), TypeError, None),
        ("f64", np.array([1.0]), TypeError, None),
        ("c128", "x", TypeError, None),
        ("c128", True, TypeError, None),
        ("f64", 1000.0, ValueError, "the program needs f64 < 100.0."),
        (
            "k",
            2**62,
            OverflowError,
            "the extent k*k of the result 'ones' along axis 0 does not fit into 64 bits.",
        ),
    ],
)
def test_scalar_refusals(name, bad, kind, sentence):
    scalars = kernels.kernel("scalars.c")
    with pytest.raises(kind) as info:
        scalars(**{name: bad})
    assert isinstance(info.value, errors.UserError)
    if sentence is None:
        assert str(info.value).startswith(f"scalars(): '{name}' ")
    else:
        assert str(info.value) == f"scalars(): {sentence}"


def test_an_error_in_index_names_the_argument_and_stays_its_cause():
    mine = ZeroDivisionError("mine")

    class Odd:
        def __index__(self):
            raise mine

    with pytest.raises(errors.UserTypeError) as info:
        kernels.kernel("scalars.c")(i64=Odd())
    assert str(info.value) == "scalars(): 'i64' cannot be read as an integer of type int64: mine."
    assert info.value.__cause__ is mine


def test_overlap_names_both_arguments():
    shift = kernels.kernel("noalias.c")
    v = np.arange(6.0)
    with pytest.raises(ValueError) as info:
        shift(v[1:], v[:-1])
    assert str(info.value) == "shift(): 'out' is written and shares memory with 'a'; pass a copy of 'a'."
    np.testing.assert_array_equal(v, np.arange(6.0))


def test_layout_of_the_inner_axis():
    fill = kernels.kernel("strided.c")
    with pytest.raises(ValueError) as info:
        fill(np.zeros((2, 3)), np.zeros((2, 3)))
    assert str(info.value) == (
        "fill(): 'inner' needs unit stride (8 bytes) along axis 0, but its strides are (24, 8) bytes; "
        "pass a copy of that layout, or declare order='any'."
    )
    with pytest.raises(TypeError, match="'x' is None"):
        fill(None)


def test_errors_of_the_run():
    check = kernels.kernel("parallel.c")
    index = np.arange(1000)
    index[501], index[900] = -3, 4444
    with pytest.raises(errors.UserIndexError) as info:
        check(index, 1000)
    assert str(info.value) == "check(): index -3 is out of bounds for axis 0 with size 1000."
    check._set_sites([("f.py:3", ""), ("f.py:9", "")])
    with pytest.raises(IndexError, match=r"with size 1000 \(f\.py:9\)\.$"):
        check(index, 1000)
    assert check(np.arange(10), 1000) == 45
    with pytest.raises(TypeError, match="A site is a tuple"):
        check._set_sites(["f.py"])


@pytest.mark.parametrize("step", [2**60, 2**62])
def test_memory_that_nobody_has(step):
    positive = kernels.kernel("returns.c")
    a = np.arange(4, dtype="i4")
    with pytest.raises(MemoryError, match=r"bytes of memory cannot be had"):
        positive(a, 0, step)
    assert len(positive(a, 0, 1)[0]) == 3


def test_status_of_init_and_exit():
    kernel = kernels.kernel("state.c")
    with pytest.raises(errors.UserRuntimeError, match=r"next\(\): 'init' returned status 4\."):
        kernel(-1)
    assert kernel(99) == 100
    with pytest.raises(RuntimeError, match="status 5"):
        kernel.finalize()
    assert kernel(0) == 1


def test_release_gil_takes_three_values():
    with pytest.raises(ValueError, match="'release_gil' is 'auto', True or False"):
        kernels.kernel("add3.c").release_gil = "sometimes"


@pytest.mark.parametrize("flag", ["MAGIC", "MAJOR", "SIZE", "RUN", "FEATURES", "EXPRESSION"])
def test_incompatible_modules(flag):
    with pytest.raises(errors.IncompatibleArtifact):
        kernels.kernel("broken.c", f"-DBREAK_{flag}")


def test_classes_are_pickled_and_derive_from_builtins():
    for name in errors.__all__:
        kind = getattr(errors, name)
        error = pickle.loads(pickle.dumps(kind("text")))
        assert type(error) is kind
        assert str(error) == "text"
        assert issubclass(kind, errors.Error)
    assert issubclass(errors.Unsupported, NotImplementedError)
    for builtin in (TypeError, ValueError, OverflowError, BufferError, IndexError, RuntimeError, MemoryError):
        assert issubclass(getattr(errors, f"User{builtin.__name__}"), (errors.UserError, builtin))


@pytest.mark.parametrize(("n", "error"), [(10**7, MemoryError), (2**31, ValueError), (2**62, ValueError)])
def test_a_result_that_is_too_big_is_refused_by_the_name_of_the_program(n, error):
    @fr.program
    def square(n):
        return np.zeros((n, n))

    assert square(2).shape == (2, 2)
    with pytest.raises(error, match=r"^square\(\): A result of shape \([\d, ]+\) cannot be made: ") as caught:
        square(n)
    assert isinstance(caught.value, fr.UserError)
