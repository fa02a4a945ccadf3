"""Which files mention an operation by name: its row, its functor, and the uses listed here with their reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ferrule import _compiler as ir

ROOT = Path(__file__).resolve().parents[2]
RT = ROOT / "include" / "ferrule" / "rt"
ELEMENT = {op.name for op in ir.element_ops()}
REDUCE = {op.name for op in ir.reduce_ops()}

# Names of operations in C++: for what they are used, and which.
CPP = {
    # Where Python numbers among themselves differ from NumPy's scalars.
    "src/program/promote.cpp": {"add", "multiply", "absolute", "sign", "invert"},
    # A comparison of sizes that is known becomes a constant.
    "src/program/builder_values.cpp": {"equal", "not_equal", "less", "less_equal"},
}
# Words of C++ sources that are not the operation: functions over sizes, names of methods, of files and of layouts.
CPP_WORDS = {
    "python/bindings/compiler/compile_bindings.cpp": {"all"},
    "python/bindings/rt/artifact_bindings.cpp": {"log"},  # of a compilation
    "python/bindings/compiler/index_bindings.cpp": {"add", "max", "min"},
    "src/artifact/manifest.cpp": {"log"},
    "src/call/expr_text.cpp": {"max", "min"},
    "src/index/parse.cpp": {"max", "min"},
    "src/index/text.cpp": {"max", "min"},
    "src/pass.cpp": {"all"},
    "src/pass.h": {"all"},
    "src/program/text_names.cpp": {"any", "max", "min"},
    "src/signature/json.cpp": {"any"},
}

# Files of capture that build other functions from operations, and why they cannot know only the table.
CAPTURE = {
    "arrays.py": "in-place operators",
    "base.py": "operators",
    "composed.py": "NumPy functions without a row: isclose, array_equal, sinc, angle, diff, select",
    "creation.py": "eye, tri and triangles compare places",
    "extremes.py": "min and max of numbers of Python and of arrays",
    "element_store.py": "whether an integer array holds a number",
    "elementwise.py": "comparisons and selection, whose operands are converted in ways of their own",
    "mathematics.py": "functions of math",
    "methods.py": "methods of ndarray",
    "moments.py": "mean, var, std and average",
    "operands.py": "conditions over sizes as values",
    "operators.py": "operators of Python integers, and comparisons",
    "overflow.py": "when the arithmetic of Python ints leaves 64 bits",
    "power.py": "NumPy's shortcuts for some exponents",
    "reductions.py": "ptp, count_nonzero and reductions by ufuncs",
    "rounding.py": "NumPy functions without a row: clip, round, nan_to_num",
    "scalars.py": "abs, min, max, sum, round, int and bool",
    "equidistant.py": "sizes and elements of arange and linspace",
    "shaping.py": "trace",
    "table.py": "ufuncs of two results and the signatures of reductions",
    "ufuncs.py": "power, which has a file of its own",
    "traps.py": "the flags of early exits, negated conditions",
}
PYTHON_WORDS = {
    "api.py": {"max"},
    "dtypes.py": {"any"},
    "options.py": {"any"},
    "capture/annotations.py": {"any"},
    "capture/joint_sizes.py": {"max", "min"},
    "capture/numbers.py": {"all", "any", "max", "min", "prod", "sum"},  # methods of NumPy's scalars
    "capture/signature.py": {"any"},
    "cli/cache.py": {"min"},  # minutes
    "cli/output.py": {"min"},
}


def mentions_in_cpp(path: Path) -> set[str]:
    text = re.sub(r"//.*", "", path.read_text())
    names = re.findall(r'\b(?:ElementOp|ReduceOp|fr|fr::reduction)::(\w+)|"(\w+)"', text)
    return {name or word for name, word in names} & (ELEMENT | REDUCE)


def mentions_in_python(path: Path) -> set[str]:
    literals = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return {node.value for node in literals if isinstance(node.value, str)} & (ELEMENT | REDUCE)


def test_cpp_knows_operations_by_the_table_alone():
    found = {}
    for folder in ("src", "python/bindings"):
        for path in sorted((ROOT / folder).rglob("*.[ch]*")):
            if names := mentions_in_cpp(path):
                found[str(path.relative_to(ROOT))] = names
    assert found == {**CPP, **CPP_WORDS}


def test_python_mentions_operations_only_to_build_others():
    package = ROOT / "python" / "ferrule"
    found = {str(path.relative_to(package)): mentions_in_python(path) for path in package.rglob("*.py")}
    users = {f"capture/{name}" for name in CAPTURE}
    assert {path for path, names in found.items() if names} == users | set(PYTHON_WORDS)
    assert {path: found[path] for path in PYTHON_WORDS} == PYTHON_WORDS


def test_a_functor_stands_in_one_header():
    homes: dict[str, set[str]] = {name: set() for name in ELEMENT | REDUCE}
    for path in RT.glob("*.h"):
        text = re.sub(r"//.*", "", path.read_text())
        functors = set(re.findall(r"^FR_INLINE [\w<>:]+ (\w+)\(", text, re.M)) & ELEMENT
        reductions = set(re.findall(r"^struct (\w+)", text, re.M)) & REDUCE
        for name in functors | reductions:
            homes[name].add(path.name)
    assert {name: files for name, files in homes.items() if len(files) != 1} == {}


def test_most_operations_are_nowhere_else():
    named = set().union(*CPP.values())
    for name in CAPTURE:
        named |= mentions_in_python(ROOT / "python" / "ferrule" / "capture" / name)
    alone = ELEMENT - named
    # Those with a use elsewhere are what Python and NumPy have operators, methods and composed functions for.
    assert {"lcm", "gcd", "fmin", "logaddexp", "heaviside", "spacing", "bitwise_count"} <= alone
