"""A C++ compiler that tells when it runs and waits to be let go on."""

import os
import select
import shutil
import sys
from pathlib import Path

SCRIPT = """#!/bin/sh
case " $* " in
  *" module.so "*)
    exec 9>'{folder}/runs'
    echo run >&9
    if [ -e '{folder}/hold' ]; then sleep 1000 & wait; fi
    if [ -e '{folder}/gate' ]; then read line < '{folder}/gate'; fi
    exec 9>&-
    ;;
esac
exec '{compiler}' "$@"
"""


class GatedCompiler:
    """`path` is a compiler for CXX. It writes 'run' into a pipe as it starts and holds the pipe until it, and all that
    it has started, is gone; with hold() it then never ends by itself, with close() it waits for open()."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir()
        self.path = str(self.folder / "c++")
        compiler = shutil.which("g++") or shutil.which("c++")
        Path(self.path).write_text(SCRIPT.format(folder=self.folder, compiler=compiler))
        os.chmod(self.path, 0o700)
        os.mkfifo(self.folder / "runs")
        self._runs = os.open(self.folder / "runs", os.O_RDONLY | os.O_NONBLOCK)

    def hold(self):
        (self.folder / "hold").touch()

    def close(self):
        os.mkfifo(self.folder / "gate")

    def open(self):
        """Lets go on who waits at the gate, if the compiler has come there yet, and who comes later."""
        (self.folder / "gate").rename(self.folder / "opened")
        # For reading too: opening for writing alone waits for a reader, and a compiler that has yet to look for the
        # gate will never be one.
        self._opened = os.open(self.folder / "opened", os.O_RDWR)
        os.write(self._opened, b"\n" * 16)

    def _read(self, seconds=60):
        ready, _, _ = select.select([self._runs], [], [], seconds)
        assert ready, "the compiler neither starts nor ends"
        return os.read(self._runs, 100)

    def wait_for_start(self):
        assert self._read().startswith(b"run\n")

    def wait_for_end(self):
        """Until no process of the compiler is left."""
        while self._read():
            pass

    def environment(self, store, **more):
        python = str(Path(__file__).resolve().parents[2] / "python")
        return {**os.environ, "CXX": self.path, "FERRULE_CACHE_DIR": str(store), "PYTHONPATH": python, **more}


def python(*arguments):
    return [sys.executable, *map(str, arguments)]
