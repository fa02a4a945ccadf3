"""`ferrule compile`."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from ferrule.artifact import Artifact, modules_size
from ferrule.cli.arguments import arguments, functions, is_artifact
from ferrule.cli.output import print_json, print_table, seconds_text, size_text
from ferrule.errors import UserValueError


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise UserValueError(f"The file '{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserValueError(f"The file '{path}' is no text in UTF-8.") from None


def _source_kernel(options: argparse.Namespace) -> list[tuple[Artifact, dict[str, Any]]]:
    from ferrule.signature import Signature
    from ferrule.source import compile_source

    if options.arguments:
        raise UserValueError("C++ text with a signature takes no sample of arguments.")
    signature = Signature.from_json(_text(options.signature))
    artifact = compile_source(_text(options.program), signature, folder=options.folder, layout=options.layout)
    return [(artifact, {})]


def _functions(options: argparse.Namespace) -> list[tuple[Artifact, dict[str, Any]]]:
    if is_artifact(options.program):
        raise UserValueError(f"'{options.program}' is no Python file; C++ text needs --signature FILE.")
    found = functions(options.program)
    if options.arguments and len(found) > 1:
        names = ", ".join(function.__name__ for function in found)
        raise UserValueError(
            f"A sample fits one program; append its name to '{options.program}', ':NAME': {names}."
        )
    if not options.arguments and ":" not in options.program:
        found = [function for function in found if function._is_annotated()]
        if not found:
            raise UserValueError(
                f"'{options.program}' has no annotated programs; append ':NAME' to it and give a sample of arguments."
            )
    sample, named = arguments(options.arguments)
    made = []
    for function in found:
        artifact = function.compile(
            *sample, target=options.target, folder=options.folder, layout=options.layout, **named
        )
        made.append((artifact, function.stats()))
    return made


def _row(artifact: Artifact, stats: dict[str, Any]) -> dict[str, Any]:
    manifest = json.loads(artifact.manifest)
    row = {
        "name": artifact.name,
        "key": artifact.key,
        "target": manifest["options"]["target"],
        "mode": manifest["options"]["mode"],
        "bytes": modules_size(manifest),
    }
    if stats:
        row |= {"compiled": stats["compiles"] > 0, "compiler_seconds": stats["compiler"]}
    return row


def compile(options: argparse.Namespace) -> int:
    """Compile programs into the store and, with --output, one of them into a file."""
    made = _source_kernel(options) if options.signature else _functions(options)
    if options.output:
        if len(made) > 1:
            raise UserValueError(f"'{options.program}' defines {len(made)} programs, but --output takes one.")
        try:
            made[0][0].save(options.output)
        except OSError as error:
            raise UserValueError(f"'{options.output}' cannot be written: {error.strerror}.") from None
    rows = [_row(*each) for each in made]
    if options.output:
        rows[0]["output"] = os.path.abspath(options.output)
    if options.folder:
        for row, (artifact, _) in zip(rows, made, strict=True):
            row["path"] = artifact.path
    if options.json:
        print_json(rows)
        return 0
    cells = [
        [
            row["name"],
            row["key"][:12],
            row["target"],
            size_text(row["bytes"]),
            ""
            if "compiled" not in row
            else seconds_text(row["compiler_seconds"])
            if row["compiled"]
            else "in the store",
        ]
        for row in rows
    ]
    print_table(("program", "key", "target", "size", "compiler"), cells, right=("size",))
    return 0
