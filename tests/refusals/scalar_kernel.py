"""A function of a scalar of every dtype, and of two optional ones."""

from __future__ import annotations

from typing import Any

import ferrule as fr

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REALS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *INTS, *REALS, *COMPLEX]
C_TYPES = {"bool": "bool", "float16": "Half", "bfloat16": "Half", "float32": "float", "float64": "double",
           "complex64": "C8", "complex128": "C16"}  # fmt: skip


def signature(name: str, **options: Any) -> tuple[str, fr.Signature]:
    """Gives how often it has run, each argument back, and what stands for None in the optional ones."""
    types = {d: C_TYPES.get(d, f"{d}_t") for d in DTYPES}
    given = ", ".join(f"{t} a_{d}" for d, t in types.items())
    made = ", ".join(f"{t}* r_{d}" for d, t in types.items())
    back = "".join(f"  *r_{d} = a_{d};\n" for d in DTYPES)
    source = f"""
#include <stdint.h>
struct Half {{ uint16_t bits; }};
struct C8 {{ float re, im; }};
struct C16 {{ double re, im; }};
static int64_t runs = 0;
int64_t {name}({given}, const int32_t* maybe_int, const double* maybe_real, {made}, int64_t* r_int, double* r_real) {{
{back}  *r_int = maybe_int ? *maybe_int : -7;
  *r_real = maybe_real ? *maybe_real : -7;
  return ++runs;
}}"""
    args = [fr.Arg(f"a_{d}", kind="scalar", dtype=d, default=False if d == "bool" else 0) for d in DTYPES]
    maybe = [fr.Arg("maybe_int", kind="scalar", dtype="int32", optional=True, default=None),
             fr.Arg("maybe_real", kind="scalar", optional=True, default=None)]  # fmt: skip
    returns = [
        fr.Return("runs", "int64", kind="scalar"),
        *(fr.Return(f"r_{d}", d, kind="scalar") for d in DTYPES),
    ]
    returns += [fr.Return("r_int", "int64", kind="scalar"), fr.Return("r_real", kind="scalar")]
    parameters = [a.name for a in (*args, *maybe)] + [r.name for r in returns[1:]]
    made_of = fr.Signature(
        name, [*args, *maybe], returns=returns, result="runs", parameters=parameters, **options
    )
    return source, made_of
