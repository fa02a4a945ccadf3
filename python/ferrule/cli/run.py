"""`ferrule run`."""

from __future__ import annotations

import argparse
import inspect
import time
from typing import Any

import numpy as np

from ferrule.cli.arguments import arguments, program
from ferrule.cli.output import print_facts, print_json, seconds_text
from ferrule.errors import UserValueError
from ferrule.function import Function


def _describe(value: Any) -> dict[str, Any]:
    if isinstance(value, np.ndarray):
        out: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape)}
        if value.size <= 100:
            out["value"] = value.tolist()
        return out
    if isinstance(value, np.generic):
        return {"dtype": str(value.dtype), "value": value.item()}
    return {"value": value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)}


def _write(path: str, values: list[Any]) -> None:
    try:
        if len(values) == 1:
            with open(path, "wb") as file:
                np.save(file, np.asarray(values[0]), allow_pickle=False)
        else:
            with open(path, "wb") as file:
                np.savez(file, *[np.asarray(value) for value in values])
    except OSError as error:
        raise UserValueError(f"'{path}' cannot be written: {error.strerror}.") from None


def _argument_names(callee: Any) -> list[str]:
    if isinstance(callee, Function):
        return list(inspect.signature(callee).parameters)
    # "name(a: float64[n], *, b: float = 2.0) -> float64": names stand outside of all brackets.
    names, depth, word = [], 0, ""
    for letter in callee.signature.partition("(")[2]:
        depth += (letter in "[(") - (letter in "])")
        if depth < 0 or (letter == "," and depth == 0):
            names.append(word.partition(":")[0].strip())
            word = ""
        else:
            word += letter
        if depth < 0:
            break
    return [name for name in names if name.isidentifier()]


def run(options: argparse.Namespace) -> int:
    """Call a program once, then --repeat times more, and show what it returns."""
    saves = []
    for text in options.save:
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise UserValueError(f"--save is '{text}', but must be NAME=FILE.")
        saves.append((name, path))
    callee = program(options.program)
    positional, named = arguments(options.arguments)
    by_name = {**dict(zip(_argument_names(callee), positional)), **named}
    for name, _ in saves:
        if name not in by_name:
            raise UserValueError(
                f"--save names '{name}', but the arguments are {', '.join(by_name) or 'none'}."
            )
    result = callee(*positional, **named)
    values = list(result) if isinstance(result, tuple) else [result]
    if options.output:
        _write(options.output, values)
    for name, path in saves:
        _write(path, [by_name[name]])
    seconds = []
    for _ in range(options.repeat):
        start = time.perf_counter()
        callee(*positional, **named)
        seconds.append(time.perf_counter() - start)
    if options.json:
        document: dict[str, Any] = {"results": [_describe(value) for value in values if result is not None]}
        if seconds:
            document["seconds"] = {
                "best": min(seconds),
                "median": float(np.median(seconds)),
                "calls": len(seconds),
            }
        print_json(document)
        return 0
    with np.printoptions(threshold=20, edgeitems=3):
        for value in values:
            if result is not None:
                print(value)
    if seconds:
        print_facts(
            [("best", seconds_text(min(seconds))), ("median", seconds_text(float(np.median(seconds))))]
        )
    return 0
