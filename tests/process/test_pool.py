"""Compilations as futures: on threads, on executors of threads and processes, with workers that die."""

import concurrent.futures
import multiprocessing
import os
import pickle
import subprocess
import threading

import numpy as np
import pooled
import pytest
from gated_compiler import GatedCompiler, python

import ferrule as fr
from ferrule import _rt, background, errors

HERE = os.path.dirname(__file__)
SAMPLES = {
    "plus_one": (np.ones(5),),
    "smooth": (np.ones(8), np.ones(8)),
    "declared": (),
}


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ.get("PYTHONPATH", ""), HERE]))


@pytest.fixture(params=["own threads", "threads", "spawn", "forkserver"])
def executor(request):
    if request.param == "own threads":
        yield None
    elif request.param == "threads":
        with concurrent.futures.ThreadPoolExecutor(2) as made:
            yield made
    else:
        context = multiprocessing.get_context(request.param)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as made:
            yield made


def fresh(name):
    """The program as a process has it that has not called it."""
    function = getattr(pooled, name)
    function.__init__(function.__wrapped__, function._options)
    function._clear()
    return function


def in_processes(executor):
    return isinstance(executor, concurrent.futures.ProcessPoolExecutor)


def test_every_executor_compiles_and_calls_then_do_not(executor):
    functions = {name: fresh(name) for name in SAMPLES}
    futures = {name: f.compile_async(*SAMPLES[name], executor=executor) for name, f in functions.items()}
    artifacts = {name: future.result(timeout=120) for name, future in futures.items()}
    a = np.arange(4.0)
    assert functions["plus_one"](a).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert functions["smooth"](np.zeros(4), a) == 3.0
    assert functions["declared"](a).tolist() == [0.0, 3.0, 6.0, 9.0]
    for name, function in functions.items():
        stats = function.stats()
        assert stats["specialisations"] == 1, name
        assert (stats["captures"], stats["compiles"]) == ((0, 0) if in_processes(executor) else (1, 1)), name
        assert function.specialisations[0].artifact == artifacts[name]


def test_many_of_every_kind_in_order(executor):
    plus_one, declared = fresh("plus_one"), fresh("declared")
    options = {"flags": ["-DOTHER"]}
    jobs = [
        (plus_one, np.ones(3)),
        declared,
        (pooled.SOURCE, pooled.SIGNATURE),
        (pooled.SOURCE, pooled.SIGNATURE, options),
    ]
    artifacts = fr.compile_many(jobs, executor=executor)
    assert [artifact.name for artifact in artifacts] == ["plus_one", "declared", "scale", "scale"]
    assert artifacts[2] != artifacts[3]
    a = np.ones(3)
    artifacts[2].load()(a, 2.0)
    assert a.tolist() == [2.0, 2.0, 2.0]


def test_an_error_is_the_one_of_a_plain_compilation(executor):
    with pytest.raises(fr.Unsupported) as plain:
        fresh("refused").compile(np.ones(3))
    with pytest.raises(fr.Unsupported) as pooled_error:
        fresh("refused").compile_async(np.ones(3), executor=executor).result(timeout=120)
    assert str(pooled_error.value) == str(plain.value)
    with pytest.raises(fr.BuildError, match="error: "):
        fr.compile_source_async("nonsense", pooled.SIGNATURE, executor=executor).result(timeout=120)
    with pytest.raises(fr.Unsupported):
        fr.compile_many([(fresh("plus_one"), np.ones(3)), (fresh("refused"), np.ones(3))], executor=executor)


def test_warm_compiles_for_each_sample(executor):
    plus_one = fresh("plus_one")
    artifacts = plus_one.warm((np.ones(3),), (np.ones((2, 2)),), executor=executor)
    assert len(set(artifacts)) == 2
    plus_one(np.ones(3)), plus_one(np.ones((2, 2)))
    assert plus_one.stats()["captures"] == (0 if in_processes(executor) else 2)


def test_the_settings_are_those_of_the_caller(executor):
    with fr.config(target="baseline"):
        future = fresh("plus_one").compile_async(np.ones(3), executor=executor)
    with fr.config(target="baseline"):
        assert future.result(timeout=120) == fresh("plus_one").compile(np.ones(3))
    assert future.result() != fresh("plus_one").compile(np.ones(3))


def test_the_depth_of_recursion_travels(executor):
    import sys

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10000)
    try:
        artifact = fresh("deep").compile_async(np.ones(3), executor=executor).result(timeout=300)
        here = fresh("deep").compile(np.ones(3))
    finally:
        sys.setrecursionlimit(before)
    assert artifact == here


def test_a_function_of_a_function_travels_by_content():
    @fr.program
    def inner(a):
        return a + 1.0

    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as made:
        artifact = inner.compile_async(np.ones(3), executor=made).result(timeout=120)
    assert inner.stats()["captures"] == 0
    assert inner.compile(np.ones(3)) == artifact


def test_what_cannot_travel_is_an_error():
    large = np.ones(1 << 20)

    @fr.program
    def inner(a):
        return a + large[0]

    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as made:
        future = inner.compile_async(np.ones(3), executor=made)
        with pytest.raises(
            pickle.PicklingError, match=r"inner' cannot be pickled: its variable 'large' is an array"
        ):
            future.result(timeout=120)
    assert inner.stats()["captures"] == 0


def test_large_samples_do_not_travel():
    big = np.broadcast_to(np.float64(1.0), (1 << 20, 1 << 10))
    from ferrule.samples import sample_of

    sample = sample_of((big, big[::2], 3), {})
    assert len(pickle.dumps(sample)) < 2000
    (first, second, number), _ = sample.arguments()
    assert (first.shape, first.strides, number) == (big.shape, big.strides, 3)
    assert np.shares_memory(first, second)


def test_samples_keep_what_a_capture_sees():
    from ferrule.samples import sample_of

    base = np.zeros((6, 7))
    read_only = np.ones(3)
    read_only.flags.writeable = False
    given = (
        base,
        base.T,
        base[::-2, 1:],
        np.zeros((0, 3)),
        read_only,
        np.float32(2),
        "text",
        (base, 1),
        [base],
    )
    stand_ins, _ = sample_of(given, {}).arguments()
    arrays = [value for value in given if isinstance(value, np.ndarray)]
    for real, stand_in in zip(arrays, stand_ins, strict=False):
        assert (real.shape, real.strides, real.dtype) == (stand_in.shape, stand_in.strides, stand_in.dtype)
        assert real.flags.writeable == stand_in.flags.writeable
        for other, other_stand_in in zip(arrays, stand_ins, strict=False):
            assert np.shares_memory(real, other) == np.shares_memory(stand_in, other_stand_in)
    assert stand_ins[5:7] == (np.float32(2), "text")
    assert stand_ins[7][0] is stand_ins[0] and stand_ins[8][0] is stand_ins[0]
    assert sample_of((object(),), {}) is None
    assert sample_of((np.array([None]),), {}) is None


class DyingExecutor(concurrent.futures.Executor):
    """Every job ends with the worker's death."""

    def submit(self, fn, /, *args, **kwargs):
        future = concurrent.futures.Future()
        future.set_exception(concurrent.futures.process.BrokenProcessPool("a worker has died"))
        return future


def test_a_job_whose_worker_dies_is_done_by_another():
    plus_one = fresh("plus_one")
    plus_one.compile_async(np.ones(3), executor=DyingExecutor()).result(timeout=120)
    plus_one(np.ones(3))
    assert plus_one.stats()["captures"] == 0


UNGUARDED = """
import concurrent.futures, multiprocessing
import numpy as np
import ferrule as fr

@fr.program
def twice(a):
    return a + a

executor = concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(METHOD))
twice.compile_async(np.ones(3), executor=executor).result()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_an_unguarded_script_ends_with_a_clear_error(tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED.replace("METHOD", repr(method)))
    done = subprocess.run(python(script), capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert (
        "ferrule.errors.UserRuntimeError: The worker process that compiled 'twice' has ended, and so has a second one. A"
        " script that is run needs 'if __name__ == \"__main__\":' around what starts processes; otherwise look for lack of"
        " memory.\n"
    ) in done.stderr


def test_a_job_that_has_not_begun_is_taken_back(tmp_path):
    release = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as made:
        made.submit(release.wait)
        plus_one = fresh("plus_one")
        future = plus_one.compile_async(np.ones(3), executor=made)
        assert future.cancel() and future.cancelled()
        release.set()
    assert plus_one.stats()["captures"] == 0
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()


DAEMON = """
import multiprocessing, numpy as np, pooled
import ferrule as fr

def work(queue):
    fr.compile_many([(pooled.plus_one, np.ones(3)), pooled.declared])
    pooled.smooth.compile_async(np.ones(4), np.ones(4)).result()
    queue.put((pooled.plus_one(np.ones(3)).tolist(), fr.background.parallel_limit(0)))

if __name__ == "__main__":
    import ferrule.background
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,), daemon=True)
    child.start()
    print(queue.get(timeout=100))
    child.join()
    print(child.exitcode)
"""


def test_a_daemonic_process_compiles_without_children(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(DAEMON)
    done = subprocess.run(python(script), capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "([2.0, 2.0, 2.0], 1)\n0\n"


def test_first_call_from_many_threads_compiles_and_loads_once(tmp_path, monkeypatch):
    compiler = GatedCompiler(tmp_path / "compiler")
    compiler.close()
    monkeypatch.setenv("CXX", compiler.path)
    plus_one = fresh("plus_one")
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(plus_one(np.ones(3)).tolist())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    compiler.wait_for_start()
    compiler.open()
    for thread in threads:
        thread.join()
    assert results == [[2.0, 2.0, 2.0]] * 8
    stats = plus_one.stats()
    assert (stats["captures"], stats["compiles"], stats["hits"], stats["specialisations"]) == (1, 1, 0, 1)


def test_as_many_at_once_as_cores_and_memory_allow(monkeypatch):
    monkeypatch.setattr(_rt, "usable_cores", lambda: 4)
    for free_jobs, running, expected in [(100, 0, 4), (2, 0, 2), (2, 1, 3), (0, 1, 1), (0, 0, 1), (-5, 3, 1)]:
        free = _rt.HEADROOM_BYTES + free_jobs * _rt.COMPILER_BYTES
        monkeypatch.setattr(_rt, "available_memory", lambda free=free: free)
        assert background.parallel_limit(running) == expected
    monkeypatch.setattr(_rt, "available_memory", lambda: None)
    assert background.parallel_limit(0) == 4


def test_available_memory_is_what_the_system_says():
    assert 0 < _rt.available_memory() < 1 << 50


@pytest.mark.parametrize("name", errors.__all__)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_error_is_picklable(name, protocol):
    error = getattr(errors, name)("What it says.")
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is type(error) and again.args == error.args and str(again) == "What it says."


def test_a_wrong_job_or_executor_is_named():
    with pytest.raises(fr.UserError, match=r"Job 1 is int, but a decorated function"):
        fr.compile_many([fresh("declared"), 3])
    with pytest.raises(
        fr.UserError, match=r"'executor' is int, but a concurrent.futures.Executor is expected"
    ):
        fresh("declared").compile_async(executor=3)
    with pytest.raises(fr.UserError, match=r"A sample for 'plus_one' is ndarray, but a tuple"):
        fresh("plus_one").warm(np.ones(3))
