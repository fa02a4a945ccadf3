"""Horizontal diffusion with a flux limiter, float64, 256 x 256 x 80, one thread, beside its peers.

The same array program runs under NumPy, Ferrule, JAX and numba; numba's loop form, hand-written C++ and a plain copy of
the field show what is still to come. Run with a Python that has the peers; the missing ones are named.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "FERRULE_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np  # noqa: E402
from harness import interleave, machine, missing, table  # noqa: E402

LOOPS = r"""
#include <stdint.h>
static inline double lap(const double* f, int64_t sx, int64_t sy) {
  return 4.0 * f[0] - (f[sx] + f[-sx] + f[sy] + f[-sy]);
}
extern "C" void hdiff(const double* __restrict in, double* __restrict out, const double* __restrict coeff, int64_t nx,
                      int64_t ny, int64_t nz) {
  const int64_t sy = nz, sx = ny * nz;
  for (int64_t i = 2; i < nx - 2; ++i)
    for (int64_t j = 2; j < ny - 2; ++j) {
      const double* f = in + i * sx + j * sy;
      double* o = out + (i - 2) * (ny - 4) * nz + (j - 2) * nz;
      const double* c = coeff + (i - 2) * (ny - 4) * nz + (j - 2) * nz;
      for (int64_t k = 0; k < nz; ++k) {
        const double* p = f + k;
        const double l = lap(p, sx, sy), lxp = lap(p + sx, sx, sy), lxm = lap(p - sx, sx, sy);
        const double lyp = lap(p + sy, sx, sy), lym = lap(p - sy, sx, sy);
        double fx1 = lxp - l, fx0 = l - lxm, fy1 = lyp - l, fy0 = l - lym;
        fx1 = fx1 * (p[sx] - p[0]) > 0 ? 0 : fx1;
        fx0 = fx0 * (p[0] - p[-sx]) > 0 ? 0 : fx0;
        fy1 = fy1 * (p[sy] - p[0]) > 0 ? 0 : fy1;
        fy0 = fy0 * (p[0] - p[-sy]) > 0 ? 0 : fy0;
        o[k] = p[0] - c[k] * (fx1 - fx0 + fy1 - fy0);
      }
    }
}
"""


def hdiff(field, out, coeff):
    """Fourth-order diffusion over the first two axes, fluxes set to zero where they would steepen the field."""
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux_x = np.where(flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0.0, flux_x)
    flux_y = lap[1:-1, 1:] - lap[1:-1, :-1]
    flux_y = np.where(flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0.0, flux_y)
    out[:] = field[2:-2, 2:-2] - coeff * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])


def hdiff_loops(field, out, coeff):
    """The same, written as loops over elements."""
    nx, ny, nz = field.shape
    for i in range(2, nx - 2):
        for j in range(2, ny - 2):
            for k in range(nz):
                centre = field[i, j, k]
                lap = 4.0 * centre - (
                    field[i + 1, j, k] + field[i - 1, j, k] + field[i, j + 1, k] + field[i, j - 1, k]
                )
                lap_xp = 4.0 * field[i + 1, j, k] - (
                    field[i + 2, j, k] + centre + field[i + 1, j + 1, k] + field[i + 1, j - 1, k]
                )
                lap_xm = 4.0 * field[i - 1, j, k] - (
                    centre + field[i - 2, j, k] + field[i - 1, j + 1, k] + field[i - 1, j - 1, k]
                )
                lap_yp = 4.0 * field[i, j + 1, k] - (
                    field[i + 1, j + 1, k] + field[i - 1, j + 1, k] + field[i, j + 2, k] + centre
                )
                lap_ym = 4.0 * field[i, j - 1, k] - (
                    field[i + 1, j - 1, k] + field[i - 1, j - 1, k] + centre + field[i, j - 2, k]
                )
                x_plus = lap_xp - lap
                x_minus = lap - lap_xm
                y_plus = lap_yp - lap
                y_minus = lap - lap_ym
                if x_plus * (field[i + 1, j, k] - centre) > 0:
                    x_plus = 0.0
                if x_minus * (centre - field[i - 1, j, k]) > 0:
                    x_minus = 0.0
                if y_plus * (field[i, j + 1, k] - centre) > 0:
                    y_plus = 0.0
                if y_minus * (centre - field[i, j - 1, k]) > 0:
                    y_minus = 0.0
                out[i - 2, j - 2, k] = centre - coeff[i - 2, j - 2, k] * (x_plus - x_minus + y_plus - y_minus)


def hand_written(folder: Path):
    """The C++ above, compiled for this machine, as a function of (field, out, coeff)."""
    source = folder / "hdiff.cpp"
    library = folder / "hdiff.so"
    source.write_text(LOOPS)
    flags = [
        "-O3",
        "-march=native",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=off",
        "-fPIC",
        "-shared",
    ]
    subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).hdiff

    def call(field, out, coeff):
        function(
            ctypes.c_void_p(field.ctypes.data),
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_void_p(coeff.ctypes.data),
            *map(ctypes.c_int64, field.shape),
        )

    return call


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", type=int, nargs=3, default=(256, 256, 80))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    nx, ny, nz = options.shape
    rng = np.random.default_rng(0)
    field = rng.random((nx, ny, nz))
    coeff = np.full((nx - 4, ny - 4, nz), 0.025)
    expected = np.empty_like(coeff)
    hdiff(field, expected, coeff)

    contenders = {}
    checked = {}

    def add(name, function):
        out = np.full_like(coeff, np.nan)
        checked[name] = out
        contenders[name] = lambda: function(field, out, coeff)

    add("NumPy", hdiff)
    try:
        import ferrule as fr

        add("Ferrule", fr.program(hdiff))
    except ImportError as error:
        missing("Ferrule", error)
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp

        def pure(field, coeff):
            lap = 4.0 * field[1:-1, 1:-1] - (
                field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
            )
            flux_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
            flux_x = jnp.where(flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0.0, flux_x)
            flux_y = lap[1:-1, 1:] - lap[1:-1, :-1]
            flux_y = jnp.where(flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0.0, flux_y)
            return field[2:-2, 2:-2] - coeff * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])

        jitted = jax.jit(pure)
        on_device = jnp.asarray(field), jnp.asarray(coeff)
        contenders["JAX"] = lambda: jitted(*on_device).block_until_ready()
    except ImportError as error:
        missing("JAX", error)
    try:
        import numba

        add("numba, array form", numba.njit(hdiff))
        add("numba, loop form", numba.njit(hdiff_loops))
    except ImportError as error:
        missing("numba", error)
    with tempfile.TemporaryDirectory() as folder:
        add("hand-written C++", hand_written(Path(folder)))
        target = np.empty_like(field)
        contenders["plain copy"] = lambda: np.copyto(target, field)
        timings = interleave(contenders, options.rounds)
    print(f"horizontal diffusion float64 {nx}x{ny}x{nz}, one thread; {machine()}")
    print(table(timings, "NumPy"))
    wrong = [name for name, out in checked.items() if not np.allclose(out, expected, rtol=1e-12, atol=1e-12)]
    for name in wrong:
        print(
            f"{name} differs from NumPy by {np.nanmax(np.abs(checked[name] - expected)):.3g}", file=sys.stderr
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
