"""Run the test shards one after another and print each one's time beside its budget.

Every shard is a command with a time budget in seconds on two cores. The output of each runner is passed through, its
closing lines included. A shard over its budget is reported, not failed: a clock decides nothing here. Only one that
hangs, far beyond it, is ended, so that the others still run and the table is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
BUILD = ROOT / "build" / "release"
WHEELS = "tests/packaging/test_wheel.py"
HANGS = 6  # budgets after which a shard will not end by itself any more
UNTIMED = "--timeout=0"  # for tests that are long by intention
PYTHON_FOLDERS = ("python", "tests", "tools", "bench", "examples", "docs")


@dataclass(frozen=True)
class Shard:
    """One command of the suite, the group that --only selects, and its budget in seconds.

    An extra shard runs where --only names its group, and is left out otherwise.
    """

    name: str
    group: str
    budget: float
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    extra: bool = False


def pytest(*args: str, workers: int = 2) -> list[str]:
    parallel = ["-n", str(workers)] if workers > 1 else []
    return [str(BIN / "python"), "-m", "pytest", "-q", *parallel, *args]


def python(*args: str) -> list[str]:
    return [str(BIN / "python"), *args]


def tracked(*suffixes: str) -> list[str]:
    """Files under version control (or new and not ignored) that end in one of the suffixes."""
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [name for name in out.splitlines() if name.endswith(suffixes) and (ROOT / name).exists()]


def shards() -> list[Shard]:
    sources = tracked(".cpp", ".h", ".c")
    return [
        Shard("ruff", "check", 20, [str(BIN / "ruff"), "check", "--quiet", *PYTHON_FOLDERS]),
        Shard(
            "ruff format", "check", 20, [str(BIN / "ruff"), "format", "--check", "--quiet", *PYTHON_FOLDERS]
        ),
        Shard("clang-format", "check", 30, [str(BIN / "clang-format"), "--dry-run", "-Werror", *sources]),
        Shard("mypy", "check", 60, python("-m", "mypy")),
        Shard(
            "codespell", "check", 20, [str(BIN / "codespell"), *tracked(".md", ".py", ".h", ".cpp", ".def")]
        ),
        Shard("layers", "check", 10, python("tools/check_layers.py")),
        Shard(
            "unit",
            "unit",
            240,
            [str(BIN / "ctest"), "--test-dir", str(BUILD), "--output-on-failure", "-j", "2"],
        ),
        Shard("python", "python", 300, pytest("tests/python")),
        Shard("errors", "errors", 60, pytest("tests/errors")),
        Shard("refusals", "errors", 60, pytest("tests/refusals")),
        Shard("golden", "golden", 60, pytest("tests/golden")),
        Shard("process", "process", 180, pytest("tests/process", workers=1)),
        Shard("leaks", "leaks", 40, pytest("tests/leaks")),
        Shard("docs", "docs", 60, pytest("tests/docs")),
        Shard("packaging", "packaging", 240, pytest("tests/packaging", "--ignore", WHEELS, workers=1)),
        Shard("wheel", "wheel", 120, pytest(WHEELS, workers=1)),
        # The bindings are compiled for each Python, the rest is found by ccache.
        Shard(
            "wheels", "wheels", 600, pytest(WHEELS, UNTIMED, workers=1), {"FERRULE_WHEELS": "all"}, extra=True
        ),
        Shard(
            "random programs",
            "fuzz",
            1800,
            pytest("tests/python/test_random_programs.py", "tests/python/test_joined_arrays.py", UNTIMED),
            {"FERRULE_FUZZ": "long"},
            extra=True,
        ),
        Shard(
            "random arguments",
            "fuzz",
            1200,
            pytest("tests/python/test_random_arguments.py", UNTIMED),
            {"FERRULE_FUZZ": "long"},
            extra=True,
        ),
        Shard(
            "mutated programs",
            "fuzz",
            600,
            pytest("tests/python/test_key_mutations.py", UNTIMED),
            {"FERRULE_FUZZ": "long"},
            extra=True,
        ),
        Shard(
            "random windows",
            "fuzz",
            600,
            [str(BUILD / "tests" / "unit_emit"), "--gtest_filter=RandomPrograms.*"],
            {"FERRULE_FUZZ": "long"},
            extra=True,
        ),
        Shard(
            "store trials",
            "fuzz",
            900,
            pytest("tests/process/test_store.py", "tests/process/test_store_damage.py", UNTIMED, workers=1),
            {"FERRULE_FUZZ": "long"},
            extra=True,
        ),
        Shard(
            "many kernels",
            "fuzz",
            600,
            pytest("tests/process/test_in_one_process.py", UNTIMED, workers=1),
            {"FERRULE_FUZZ": "long"},
            extra=True,
        ),
        Shard("clang-tidy", "tidy", 900, python("tools/tidy.py"), extra=True),
    ]


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a shard with all that it has started; Python's processes print where they were."""
    for signal_number in (signal.SIGABRT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)


def run(shard: Shard, store: str) -> tuple[float, int]:
    print(f"\n[{shard.name}] {' '.join(shard.command[:6])}", flush=True)
    # One warm store for the whole suite: a program compiled by one shard is a hit in the next.
    env = {**os.environ, "FERRULE_CACHE_DIR": store, "PYTHONPATH": str(ROOT / "python"), **shard.env}
    start = time.monotonic()
    process = subprocess.Popen(shard.command, cwd=ROOT, env=env, start_new_session=True)
    try:
        process.wait(HANGS * shard.budget)
    except subprocess.TimeoutExpired:
        print(f"\n[{shard.name}] hangs: ended after {HANGS} times its budget", flush=True)
        end(process)
    except BaseException:
        end(process)
        raise
    return time.monotonic() - start, process.returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="GROUP", help="run only these groups (repeatable)")
    parser.add_argument("--list", action="store_true", help="print the shards and stop")
    options = parser.parse_args()
    chosen = [s for s in shards() if s.group in (options.only or []) or not (options.only or s.extra)]
    if not chosen:
        parser.error(f"no shard in the groups {', '.join(options.only)}")
    if options.list:
        for shard in chosen if options.only else shards():
            print(
                f"{shard.group:9} {shard.budget:5.0f} s  {shard.name}{'  (only where named)' if shard.extra else ''}"
            )
        return 0
    rows = []
    with tempfile.TemporaryDirectory(prefix="ferrule-tests-") as store:
        for shard in chosen:
            rows.append((shard, *run(shard, store)))
    print(f"\n{'shard':16} {'seconds':>8} {'budget':>8}  result")
    for shard, seconds, code in rows:
        verdict = "passed" if code == 0 else f"FAILED ({code})"
        late = "  over budget" if seconds > shard.budget else ""
        print(f"{shard.name:16} {seconds:8.1f} {shard.budget:8.0f}  {verdict}{late}")
    total = sum(seconds for _, seconds, _ in rows)
    failed = [shard.name for shard, _, code in rows if code != 0]
    print(
        f"{'total':16} {total:8.1f} {sum(s.budget for s, *_ in rows):8.0f}  {len(rows) - len(failed)} of {len(rows)} shards passed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
