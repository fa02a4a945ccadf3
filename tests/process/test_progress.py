"""The line that a terminal shows while a compilation takes long."""

import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
import ferrule as fr

@fr.program
def slow_one(a):
    return a + {number}

print(slow_one(np.ones(2)))
"""


@pytest.fixture
def waiting_compiler(tmp_path):
    """A compiler that compiles once something is read from, and so written to, its gate."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    wrapper = tmp_path / "wait++"
    real = shutil.which("c++")
    wrapper.write_text(
        f'#!/bin/sh\ncase "$*" in *source.cpp*) read line < "{gate}";; esac\nexec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    return wrapper, gate


class OnTerminal:
    """A script whose stderr is a terminal of our own."""

    def __init__(self, folder, wrapper, number, **env):
        (folder / "script.py").write_text(SCRIPT.format(number=number))
        self.terminal, theirs = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, folder / "script.py"],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={
                **os.environ,
                "FERRULE_CACHE_DIR": str(folder / "store"),
                "CXX": str(wrapper),
                "TERM": "xterm",
                **env,
            },
        )
        os.close(theirs)
        self.shown = b""

    def read_until(self, text):
        while text not in self.shown:
            self.shown += os.read(self.terminal, 4096)

    def end(self):
        """All that the terminal showed."""
        out, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0 and b"[" in out
        try:
            while more := os.read(self.terminal, 4096):
                self.shown += more
        except OSError:  # the other side is closed and everything is read
            pass
        os.close(self.terminal)
        return self.shown


def test_a_long_compilation_shows_a_line_and_takes_it_back(tmp_path, waiting_compiler):
    wrapper, gate = waiting_compiler
    script = OnTerminal(tmp_path, wrapper, 1)
    script.read_until(b"ferrule: compiling 'slow_one', ")
    gate.write_text("go\n")
    assert script.end().endswith(b"\r\x1b[K")


@pytest.mark.parametrize("env", [{"FERRULE_PROGRESS": "0"}, {"TERM": "dumb"}])
def test_nothing_is_shown_where_it_is_off(tmp_path, waiting_compiler, env):
    wrapper, gate = waiting_compiler
    script = OnTerminal(tmp_path, wrapper, 2, **env)
    with open(gate, "w") as file:  # opens once the compiler waits
        file.write("go\n")
    assert script.end() == b""


def test_nothing_is_shown_without_a_terminal(tmp_path, waiting_compiler):
    wrapper, gate = waiting_compiler
    (tmp_path / "script.py").write_text(SCRIPT.format(number=3))
    with (tmp_path / "err").open("w") as err:
        process = subprocess.Popen(
            [sys.executable, tmp_path / "script.py"],
            stdout=subprocess.DEVNULL,
            stderr=err,
            env={**os.environ, "FERRULE_CACHE_DIR": str(tmp_path / "store"), "CXX": str(wrapper)},
        )
        gate.write_text("go\n")
        assert process.wait(timeout=120) == 0
    assert (tmp_path / "err").read_text() == ""
