"""Ctrl-C and the death of a process end the C++ compiler with all that it has started, and leave nothing behind."""

import signal
import subprocess

import pytest
from gated_compiler import GatedCompiler, python

PROGRAMS = {
    "call": "twice(np.ones(3))",
    "compile": "twice.compile(np.ones(3))",
    "source": "fr.compile_source(SOURCE, SIGNATURE)",
    "many": "fr.compile_many([(twice, np.ones(3)), (SOURCE, SIGNATURE)])",
    "future": "twice.compile_async(np.ones(3)).result()",
    "same key in another thread": """
thread = threading.Thread(target=lambda: fr.compile_source(SOURCE, SIGNATURE), daemon=True)
thread.start()
input()
fr.compile_source(SOURCE, SIGNATURE)
""",
}
SETUP = """
import signal
import threading

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
import numpy as np
import ferrule as fr

SOURCE = "extern \\"C\\" void one(double* a) { a[0] = 1.0; }"
SIGNATURE = fr.Signature("one", [fr.Arg("a", "array", "float64", ("1",), intent="out")])

def double(a):
    return a + a

twice = fr.program(double)
"""


@pytest.fixture
def compiler(tmp_path):
    made = GatedCompiler(tmp_path / "compiler")
    made.hold()
    return made


def start(tmp_path, compiler, program):
    script = tmp_path / "script.py"
    script.write_text(SETUP + PROGRAMS[program])
    env = compiler.environment(tmp_path / "store")
    pipe = subprocess.PIPE
    child = subprocess.Popen(python(script), env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    compiler.wait_for_start()
    return child


def staging(tmp_path):
    return sorted(path.name for path in (tmp_path / "store" / "v1" / "tmp").iterdir())


@pytest.mark.parametrize("program", [name for name in PROGRAMS if "thread" not in name])
def test_interrupt_ends_the_compiler_and_leaves_nothing(tmp_path, compiler, program):
    child = start(tmp_path, compiler, program)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT and err.splitlines()[-1] == "KeyboardInterrupt", err
    compiler.wait_for_end()
    assert staging(tmp_path) == []


@pytest.mark.parametrize("program", ["call", "future", "same key in another thread"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_death_ends_the_compiler(tmp_path, compiler, program, number):
    child = start(tmp_path, compiler, program)
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode == -number
    compiler.wait_for_end()


def test_interrupt_of_a_wait_for_another_thread(tmp_path, compiler):
    child = start(tmp_path, compiler, "same key in another thread")
    child.stdin.write("\n")
    child.stdin.flush()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT, err
    compiler.wait_for_end()


def test_a_handler_that_returns_interrupts_nothing(tmp_path):
    compiler = GatedCompiler(tmp_path / "compiler")
    compiler.close()
    script = tmp_path / "script.py"
    handler = "import signal; signal.signal(signal.SIGUSR1, lambda *a: print('handled', flush=True))\n"
    script.write_text(handler + SETUP + "print(twice(np.ones(3)))")
    env = compiler.environment(tmp_path / "store")
    child = subprocess.Popen(python(script), env=env, stdout=subprocess.PIPE, text=True)
    compiler.wait_for_start()
    child.send_signal(signal.SIGUSR1)
    assert child.stdout.readline() == "handled\n"
    compiler.open()
    assert child.communicate(timeout=60)[0] == "[2. 2. 2.]\n"
