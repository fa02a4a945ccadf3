"""Three programs on a real elevation model, each checked against NumPy and timed.

The data is the Jacksboro fault in Tennessee, which matplotlib ships as sample data. The three functions below are plain
NumPy; `ferrule.program` is all that is added. Prints NumPy's time, the first call split into its stages, the steady
call, the ratio and the largest difference from NumPy; writes demo-out/jacksboro.png. Exits with 1 if a result differs
beyond its tolerance.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.cbook import get_sample_data

import ferrule as fr

OUTPUT = Path(__file__).resolve().parent.parent / "demo-out" / "jacksboro.png"


def diffuse(height, steps, rate):
    """Fourth-order horizontal diffusion with limited fluxes, double buffered over `steps` steps."""
    old = height.copy()
    new = height.copy()
    for _ in range(steps):
        laplacian = old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2] - 4.0 * old[1:-1, 1:-1]
        flux_y = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
        flux_y = np.where(flux_y * (old[2:-1, 2:-2] - old[1:-2, 2:-2]) > 0.0, 0.0, flux_y)
        flux_x = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
        flux_x = np.where(flux_x * (old[2:-2, 2:-1] - old[2:-2, 1:-2]) > 0.0, 0.0, flux_x)
        new[2:-2, 2:-2] = old[2:-2, 2:-2] - rate * (flux_y[1:] - flux_y[:-1] + flux_x[:, 1:] - flux_x[:, :-1])
        old, new = new, old
    return old


def shade(height, spacing_x, spacing_y, azimuth, altitude):
    """Slope, aspect (radians) and hillshade (0 to 1) for a light at `azimuth` and `altitude` in degrees."""
    slope_x = np.zeros_like(height)
    slope_y = np.zeros_like(height)
    slope_x[:, 1:-1] = (height[:, 2:] - height[:, :-2]) / (2.0 * spacing_x)
    slope_x[:, 0] = (height[:, 1] - height[:, 0]) / spacing_x
    slope_x[:, -1] = (height[:, -1] - height[:, -2]) / spacing_x
    slope_y[1:-1] = (height[2:] - height[:-2]) / (2.0 * spacing_y)
    slope_y[0] = (height[1] - height[0]) / spacing_y
    slope_y[-1] = (height[-1] - height[-2]) / spacing_y
    slope = np.arctan(np.hypot(slope_x, slope_y))
    aspect = np.arctan2(-slope_x, slope_y)
    aspect = np.where(aspect < 0.0, aspect + 2.0 * np.pi, aspect)
    zenith = np.deg2rad(90.0 - altitude)
    light = np.deg2rad(360.0 - azimuth + 90.0)
    bright = np.cos(zenith) * np.cos(slope) + np.sin(zenith) * np.sin(slope) * np.cos(light - aspect)
    return slope, aspect, np.clip(bright, 0.0, 1.0)


def fill_depressions(height, passes, drop):
    """Water surface that drains to the border with at least `drop` a cell: Planchon and Darboux (2001), by sweeps."""
    rows, columns = height.shape
    water = np.full_like(height, 1.0e6)
    water[0] = height[0]
    water[-1] = height[-1]
    water[:, 0] = height[:, 0]
    water[:, -1] = height[:, -1]
    for _ in range(passes):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                lowest = min(water[i - 1, j], water[i + 1, j], water[i, j - 1], water[i, j + 1]) + drop
                water[i, j] = max(height[i, j], min(water[i, j], lowest))
        for i in range(rows - 2, 0, -1):
            for j in range(columns - 2, 0, -1):
                lowest = min(water[i - 1, j], water[i + 1, j], water[i, j - 1], water[i, j + 1]) + drop
                water[i, j] = max(height[i, j], min(water[i, j], lowest))
    return water


def best_of(call: Callable[[], Any], seconds: float) -> float:
    """The least time of one call, over as many calls as fit into about `seconds`, two at least."""
    best = float("inf")
    stop = time.perf_counter() + seconds
    count = 0
    while count < 2 or time.perf_counter() < stop:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best


def difference(expected: Any, actual: Any) -> float:
    """Largest absolute difference between two results or tuples of results; NaN where one is."""
    if isinstance(expected, tuple):
        # Not max(), which may pass over a NaN.
        return float(np.max([difference(left, right) for left, right in zip(expected, actual, strict=True)]))
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return float("inf")
    return float(np.max(np.abs(expected - actual))) if expected.size else 0.0


def demonstrate(
    function: Callable[..., Any], arguments: tuple, tolerance: float, once: bool
) -> tuple[Any, bool, str]:
    """Run a function by NumPy and natively; print a line of figures; return the native result and whether it agrees."""
    start = time.perf_counter()
    expected = function(*arguments)
    numpy_seconds = time.perf_counter() - start
    if not once:
        numpy_seconds = min(numpy_seconds, best_of(lambda: function(*arguments), 0.5))

    program = fr.program(function)
    start = time.perf_counter()
    actual = program(*arguments)
    first_seconds = time.perf_counter() - start
    stats = program.stats()
    steady_seconds = best_of(lambda: program(*arguments), 0.5)

    worst = difference(expected, actual)
    agrees = worst <= tolerance
    spent = stats["seconds"]
    run_seconds = max(0.0, first_seconds - sum(spent.values()))
    print(f"{function.__name__}: {(function.__doc__ or '').splitlines()[0]}")
    print(f"  NumPy        {numpy_seconds * 1e3:10.2f} ms")
    print(
        f"  first call   {first_seconds * 1e3:10.2f} ms = capture {spent['capture'] * 1e3:.1f}"
        f" + compile {spent['compile'] * 1e3:.1f} + load {spent['load'] * 1e3:.1f} + run {run_seconds * 1e3:.1f}"
    )
    print(
        f"  steady call  {steady_seconds * 1e3:10.3f} ms   {numpy_seconds / steady_seconds:.1f} times as fast as NumPy"
    )
    verdict = "agrees" if agrees else "DIFFERS"
    print(f"  {verdict}: largest difference {worst:.3g} (tolerance {tolerance:.3g})")
    if stats["captures"] == 0 and stats["compiles"] == 0:
        source = "taken from the store: nothing was traced, nothing was compiled"
    elif stats["compiles"] == 0:
        source = "traced, but not compiled: the store had the module"
    else:
        source = f"traced {stats['captures']} time(s), compiled {stats['compiles']} module(s)"
    print(f"  {source}\n")
    return actual, agrees, source


def picture(height: np.ndarray, before: np.ndarray, after: np.ndarray, depth: np.ndarray, path: Path) -> None:
    """Elevation, hillshade before and after diffusion, and the depth of filled depressions, in one PNG."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 9.6), layout="constrained")
    panels = (
        (height, "Elevation (m)", "terrain", float(height.min()), float(height.max())),
        (np.where(depth > 0.05, depth, np.nan), "Filled depressions (m)", "Blues", 0.0, None),
        (before, "Hillshade before", "gray", 0.0, 1.0),
        (after, "Hillshade after limited fourth-order diffusion", "gray", 0.0, 1.0),
    )
    for axis, (field, title, colours, lowest, highest) in zip(axes.flat, panels, strict=True):
        if title.startswith("Filled"):
            axis.imshow(before, cmap="gray", vmin=0.0, vmax=1.0)
        shown = axis.imshow(field, cmap=colours, vmin=lowest, vmax=highest)
        axis.set_title(title)
        axis.set_axis_off()
        figure.colorbar(shown, ax=axis, shrink=0.8)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"picture: {path.relative_to(path.parent.parent)}")


def elevation() -> tuple[np.ndarray, float, float]:
    """Heights in metres, and the metres between two columns and between two rows."""
    with np.load(get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as model:
        height = np.ascontiguousarray(model["elevation"], dtype=np.float64)
        degree_x, degree_y = float(model["dx"]), float(model["dy"])
    latitude = 36.6
    return height, 111_200.0 * degree_x * float(np.cos(np.radians(latitude))), 111_200.0 * degree_y


def main() -> int:
    height, spacing_x, spacing_y = elevation()
    print(
        f"Jacksboro fault, {height.shape[0]} x {height.shape[1]} cells of {spacing_x:.0f} x {spacing_y:.0f} m\n"
    )

    light = (spacing_x, spacing_y, 315.0, 45.0)
    smooth, right_a, _ = demonstrate(diffuse, (height, 400, 0.025), 1e-9, once=False)
    (_, _, before), right_b, _ = demonstrate(shade, (height, *light), 1e-12, once=False)
    water, right_c, _ = demonstrate(fill_depressions, (height, 5, 1e-3), 0.0, once=True)
    _, _, after = fr.program(shade)(smooth, *light)
    picture(height, before, after, water - height, OUTPUT)
    if not (right_a and right_b and right_c):
        print("A result differs from NumPy beyond its tolerance.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
