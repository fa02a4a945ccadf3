"""The command `ferrule`: a parser, and a module for each command that is imported when it is asked for.

A command is a function from its parsed arguments to an exit status. It prints through `ferrule.cli.output`, so that
--json means the same everywhere: one JSON document on stdout and nothing else.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

_DESCRIPTION = """\
Compile and run array programs, and look after the store of compiled ones.

A PROGRAM is a decorated function, FILE.py:NAME or MODULE:NAME, or a file that `ferrule compile -o` wrote."""

_ARGUMENTS = """\
An ARGUMENT is a number, True, False, None, a file .npy, or a type with extents that stands for an array of it:
  float64[512,512]   int32[10]   float32[]
NAME=ARGUMENT gives it by name; any other text is a string."""

_EPILOGS = {
    "compile": f"""\
{_ARGUMENTS}

examples:
  ferrule compile prog.py                              all annotated programs of a file
  ferrule compile prog.py:smooth float64[64,64] float64[64,64] 0.1
  ferrule compile prog.py:scale --target baseline -o scale.artifact
  ferrule compile kernel.cpp --signature kernel.json   C++ with a signature""",
    "run": f"""\
{_ARGUMENTS}
Arrays of a type are made for the run: floats in [0, 1), integers in [0, 100), the same ones every time.

examples:
  ferrule run prog.py:total float64[1000]
  ferrule run scale.artifact data.npy 2.0 --save a=scaled.npy
  ferrule run prog.py:smooth a.npy out=b.npy 0.1 --repeat 100""",
    "info": "example:\n  ferrule info --json | python -m json.tool",
    "ls": "examples:\n  ferrule cache ls\n  ferrule cache ls --name smooth --sort size",
    "why": """\
Compares the ingredients of two keys: all that decides a module. With one KEY, the entry of the same name that is most
like it is the other. A KEY may be cut to its first digits.

examples:
  ferrule cache why 3f9a
  ferrule cache why 3f9a 81c2""",
    "verify": """\
The exit status is 1 where something is damaged, foreign or untrusted and was not removed.

examples:
  ferrule cache verify
  ferrule cache verify --repair""",
    "prune": "examples:\n  ferrule cache prune --max-size 1G\n  ferrule cache prune --older-than 30d",
    "export": "examples:\n  ferrule cache export all.archive\n  ferrule cache export one.archive 3f9a",
    "import": "Entries are code: take only archives that you trust.\n\nexample:\n  ferrule cache import all.archive",
    "path": "examples:\n  ferrule cache path\n  ls $(ferrule cache path 3f9a)",
}


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, module: str, summary: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=_EPILOGS.get(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--cache-dir", metavar="FOLDER", help="the store's root instead of the configured one"
    )
    parser.set_defaults(command=f"{module}:{name}_" if name == "import" else f"{module}:{name}")
    return parser


def _build_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", metavar="NAME", help="instruction set: native (default), baseline or multi"
    )
    parser.add_argument("--build", choices=("release", "debug"), help="optimised, or for a debugger")
    parser.add_argument(
        "--compiler", metavar="PROGRAM", help="the C++ compiler instead of CXX, c++, g++, clang++"
    )
    parser.add_argument("--no-progress", action="store_true", help="show no progress line on a terminal")


def _cache(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cache = commands.add_parser(
        "cache", help="look after the store of compiled programs", description="Look after the store."
    )
    inner = cache.add_subparsers(metavar="COMMAND", required=True)
    ls = _command(inner, "ls", "cache", "list the entries of the store")
    ls.add_argument("--name", metavar="TEXT", help="only programs whose name contains it")
    ls.add_argument(
        "--sort", choices=("age", "used", "name", "size", "seconds"), default="age", help="default: age"
    )
    why = _command(inner, "why", "cache", "say what differs between two compiled programs")
    why.add_argument("key", metavar="KEY")
    why.add_argument("other", metavar="OTHER", nargs="?")
    verify = _command(
        inner, "verify", "cache", "read every file of the store and report what should not be there"
    )
    verify.add_argument(
        "--repair", action="store_true", help="remove what is damaged, foreign among entries, or rubbish"
    )
    prune = _command(inner, "prune", "cache", "remove entries that were not used for long")
    prune.add_argument(
        "--max-size", metavar="SIZE", help="remove the longest unused until so much is left: 500M, 2G"
    )
    prune.add_argument(
        "--older-than", metavar="SPAN", help="remove what was not used for so long: 30d, 12h, 5min"
    )
    export = _command(inner, "export", "cache", "write entries into one file, for another machine")
    export.add_argument("file", metavar="FILE")
    export.add_argument("keys", metavar="KEY", nargs="*", help="default: everything")
    import_ = _command(inner, "import", "cache", "take over entries from a file that export wrote")
    import_.add_argument("file", metavar="FILE")
    path = _command(inner, "path", "cache", "print where the store, or an entry, is")
    path.add_argument("key", metavar="KEY", nargs="?")


def _parser() -> argparse.ArgumentParser:
    from ferrule import __version__

    parser = argparse.ArgumentParser(
        prog="ferrule", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"ferrule {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    compile_ = _command(
        commands, "compile", "compile", "compile programs ahead of time, into the store or a file"
    )
    compile_.add_argument("program", metavar="PROGRAM")
    compile_.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", help="a sample, where there are no annotations"
    )
    compile_.add_argument("-o", "--output", metavar="FILE", help="write the artifact to a file as well")
    compile_.add_argument(
        "--folder", metavar="FOLDER", help="also put NAME.so, NAME.json and the sources into a folder"
    )
    compile_.add_argument(
        "--layout", choices=("development", "production"), help="with sources and logs there, or without"
    )
    compile_.add_argument("--signature", metavar="FILE", help="PROGRAM is C++ text; its signature as JSON")
    _build_options(compile_)
    run = _command(commands, "run", "run", "call a program with arguments from the command line")
    run.add_argument("program", metavar="PROGRAM")
    run.add_argument("arguments", metavar="ARGUMENT", nargs="*")
    run.add_argument(
        "-o", "--output", metavar="FILE", help="write the result to a file .npy, several to .npz"
    )
    run.add_argument(
        "--save",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="write an argument to a file .npy afterwards",
    )
    run.add_argument(
        "--repeat", metavar="N", type=int, default=0, help="call it N times more and give the seconds"
    )
    _build_options(run)
    _command(
        commands, "info", "info", "show the compiler, target, store, threads, settings and versions in use"
    )
    _cache(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 1 where it failed (one line on stderr), 2 where it was called wrongly."""
    options = _parser().parse_args(argv)
    from ferrule.config import config
    from ferrule.errors import Error

    given = {
        "cache_dir": options.cache_dir and os.path.abspath(options.cache_dir),
        "target": getattr(options, "target", None),
        "build": getattr(options, "build", None),
        "compiler": getattr(options, "compiler", None),
        "progress": False if getattr(options, "no_progress", False) else None,
    }
    module, name = options.command.split(":")
    try:
        with config(**{key: value for key, value in given.items() if value is not None}):
            command = getattr(importlib.import_module(f"ferrule.cli.{module}"), name)
            status: int = command(options)
            sys.stdout.flush()
            return status
    except Error as error:
        print(f"ferrule: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has seen enough; the interpreter's own flush at the end must not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("ferrule: interrupted", file=sys.stderr)
        return 130
