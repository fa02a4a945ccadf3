"""Equal programs are equal bytes: emitted source, binding, key and module, in any process, folder and order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[1] / "python" / "programs"
ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import importlib, json, random, sys
import numpy as np
folder, order, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.path.insert(0, folder)
import ferrule as fr
from ferrule import _compiler, _rt, capture, session
import programs
topics = [topic for topic in programs.TOPICS if topic != "refused"]
random.Random(order).shuffle(topics)
for topic in topics:
    importlib.import_module(f"programs.{topic}")
chosen = sorted((p for p in programs.PROGRAMS if p.topic in topics), key=lambda p: (p.topic, p.fn.__name__))
chosen = chosen[:: max(1, len(chosen) // count)]
random.Random(order).shuffle(chosen)
told = {}
for program in chosen:
    args = program.make(np.random.default_rng(1), program.sizes[0])
    captured = capture.capture(program.fn, args, {})
    emitted = _compiler.emit_source(captured.program)
    text = captured.program.print()
    told[f"{program.topic}.{program.fn.__name__}"] = [
        _rt.sha256_hex(emitted["source"].encode()), _rt.sha256_hex(text.encode()), _rt.digest_of(emitted["ingredients"])
    ]
for program in sorted(chosen, key=lambda p: p.fn.__name__)[:3]:
    args = program.make(np.random.default_rng(1), program.sizes[0])
    artifact = fr.program(program.fn).compile(*args)
    told[f"module of {program.fn.__name__}"] = [artifact.key, _rt.sha256_hex(artifact.module_bytes())]
print(json.dumps(told, sort_keys=True))
"""


def test_programs_are_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    running = []
    for order, seed in enumerate(("0", "1", "42", "4242", "random")):
        folder = tmp_path / f"folder {order}" / ("x" * (order + 1))
        shutil.copytree(PROGRAMS, folder / "programs", ignore=shutil.ignore_patterns("__pycache__"))
        env = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(ROOT / "python"),
            "FERRULE_CACHE_DIR": str(tmp_path / f"store {order}"),
        }
        command = [sys.executable, "-B", "-c", CHILD, str(folder), str(order), "24"]
        running.append(
            subprocess.Popen(
                command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    told = []
    for process in running:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        told.append(json.loads(out))
    assert len(told[0]) >= 23 and sum(name.startswith("module of ") for name in told[0]) == 3
    assert all(each == told[0] for each in told[1:])
