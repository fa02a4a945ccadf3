"""Compilations as futures: on threads of this process, or on any `concurrent.futures.Executor`, also of processes.

The C++ compiler is a process of its own, so threads are what most programs want: they share this process's
specialisations, and nothing has to be pickled.
"""

from __future__ import annotations

import contextvars
import os
import pickle
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from ferrule import _rt, background, placement, session
from ferrule.artifact import Artifact
from ferrule.carried import Carried
from ferrule.config import SETTINGS, WATCHED, config, setting
from ferrule.errors import UserRuntimeError, UserTypeError
from ferrule.function import Function
from ferrule.placement import Placing
from ferrule.samples import Sample, sample_of
from ferrule.signature import Signature
from ferrule.source import compile_source

_ENVIRONMENT = ("CXX", "CXXFLAGS")
_SLICE_S = 0.1

# An artifact; from another process its pickle with the warm records that belong to it.
_Outcome = Artifact | bytes


@dataclass(frozen=True)
class _Program:
    """A decorated function and the arguments that it is compiled for."""

    function: Function
    sample: Sample | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    target: str | None

    @property
    def name(self) -> str:
        return self.function.__name__

    def compile(self) -> Artifact:
        args, kwargs = (self.args, self.kwargs) if self.sample is None else self.sample.arguments()
        return self.function.compile(*args, target=self.target, **kwargs)

    def records(self, artifact: Artifact) -> list[Carried]:
        inner = self.function._inner or self.function
        return [each for each in inner._for_pickle() if each.artifact == artifact]

    def take_up(self, records: list[Carried]) -> None:
        (self.function._inner or self.function)._carry(records)


@dataclass(frozen=True)
class _Source:
    """An author's source with its signature and the options of compile_source."""

    text: str
    signature: Signature
    options: dict[str, Any]

    @property
    def name(self) -> str:
        return self.signature.name

    def compile(self) -> Artifact:
        return compile_source(self.text, self.signature, **self.options)

    def records(self, artifact: Artifact) -> list[Carried]:
        return []

    def take_up(self, records: list[Carried]) -> None:
        pass


def _settings() -> dict[str, Any]:
    """The settings here and now; what watches calls is no business of a compilation."""
    here = {name: setting(name) for name in SETTINGS if name not in WATCHED}
    return {**here, "folder_mode": "content"}  # names are taken in the process that asks


@dataclass
class _Task:
    """One compilation with what it depends on in the place where it was asked for; travels to other processes."""

    what: _Program | _Source
    settings: dict[str, Any] = field(default_factory=_settings)
    environment: dict[str, str | None] = field(
        default_factory=lambda: {name: os.environ.get(name) for name in _ENVIRONMENT}
    )
    placing: Placing | None = field(default_factory=placement.placing)
    recursion_limit: int = field(default_factory=sys.getrecursionlimit)
    stop: _rt.Stop | None = field(default_factory=_rt.Stop)  # None in another process

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stop": None}

    def run(self) -> _Outcome:
        """The artifact, or in another process its pickle with records."""
        if self.stop is None:
            sys.setrecursionlimit(max(sys.getrecursionlimit(), self.recursion_limit))
            for name, value in self.environment.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        return contextvars.copy_context().run(self._compile)

    def _compile(self) -> _Outcome:
        session.stopping.set(self.stop)
        with background.slot(), config(**self.settings):
            artifact = self.what.compile()
            if self.stop is not None:
                return artifact
            # Pickled here, because its bytes are in the store of these settings.
            return pickle.dumps((artifact, self.what.records(artifact)))

    def artifact_of(self, outcome: _Outcome) -> Artifact:
        """The artifact of an outcome; what came with it from another process is taken up here."""
        artifact: Artifact
        if isinstance(outcome, Artifact):
            artifact = outcome
        else:
            artifact, records = pickle.loads(outcome)
            self.what.take_up(records)
        return placement.placed(artifact, self.placing)


def _run(task: _Task) -> _Outcome:
    return task.run()


class CompileFuture(Future[Artifact]):
    """The artifact of a compilation that may still run."""

    def __init__(self, task: _Task) -> None:
        super().__init__()
        self._task = task
        self._inner: Future[_Outcome] | None = None

    def cancel(self) -> bool:
        """Take the compilation back; False where it has begun."""
        if self._inner is not None and not self._inner.cancel():
            return False
        return super().cancel()

    def running(self) -> bool:
        return super().running() or (self._inner is not None and self._inner.running())

    def result(self, timeout: float | None = None) -> Artifact:
        """The artifact. Raises the error of the compilation, CancelledError, or TimeoutError after `timeout` seconds."""
        self._wait(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error of the compilation; None where it has an artifact."""
        self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout: float | None) -> None:
        # In slices: a signal that does not reach the main thread while it sleeps is looked at between two of them.
        end = None if timeout is None else time.monotonic() + timeout
        while not self.done() and (end is None or time.monotonic() < end):
            wait([self], _SLICE_S if end is None else min(_SLICE_S, max(0.0, end - time.monotonic())))

    def _stop(self) -> None:
        """Give the compilation up; one that runs in this process ends soon."""
        if not self.cancel() and self._task.stop is not None:
            self._task.stop.set()

    # -- on the threads of this process

    def _begin(self) -> None:
        if not background.submit(self._work):
            raise UserRuntimeError(
                f"'{self._task.what.name}' cannot be compiled in the background: Python ends."
            )

    def _work(self, stop: _rt.Stop) -> None:
        if stop.is_set:
            super().cancel()
        self._task.stop = stop  # before it runs, for _stop
        if not self.set_running_or_notify_cancel():
            return
        try:
            artifact = self._task.artifact_of(self._task.run())
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(artifact)

    # -- on an executor

    def _begin_on(self, executor: Executor) -> None:
        try:
            self._inner = executor.submit(_run, self._task)
        except BrokenExecutor:
            self._again()
        else:
            self._inner.add_done_callback(self._done)

    def _done(self, inner: Future[_Outcome]) -> None:
        if inner.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
            return
        error = inner.exception()
        if isinstance(error, BrokenExecutor):
            self._again()
        elif error is not None:
            self._finish(None, error)
        else:
            self._finish(inner.result(), None)

    def _finish(self, outcome: _Outcome | None, error: BaseException | None) -> None:
        if not self.set_running_or_notify_cancel():
            return
        if outcome is None:
            self.set_exception(error)
        else:
            self.set_result(self._task.artifact_of(outcome))

    def _again(self) -> None:
        """The worker process has died: once more in a new one, so that what killed it cannot kill this process."""
        self._inner = None
        if not background.submit(self._work_apart):
            self._finish(
                None, UserRuntimeError(f"The worker that compiled '{self._task.what.name}' has ended.")
            )

    def _work_apart(self, stop: _rt.Stop) -> None:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        what = self._task.what.name
        if stop.is_set:
            self._finish(None, UserRuntimeError(f"The worker process that compiled '{what}' has ended."))
            return
        if multiprocessing.current_process().daemon:
            text = f"The worker process that compiled '{what}' has ended, and this one may have no children to try again."
            self._finish(None, UserRuntimeError(text))
            return
        try:
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
                outcome = executor.submit(_run, self._task).result()
        except BrokenExecutor:
            text = (
                f"The worker process that compiled '{what}' has ended, and so has a second one. A script that is run needs"
                " 'if __name__ == \"__main__\":' around what starts processes; otherwise look for lack of memory."
            )
            self._finish(None, UserRuntimeError(text))
        except BaseException as error:
            self._finish(None, error)
        else:
            self._finish(outcome, None)


def _submitted(what: _Program | _Source, executor: Executor | None) -> CompileFuture:
    future = CompileFuture(_Task(what))
    if executor is None:
        future._begin()
    elif isinstance(executor, Executor) or callable(getattr(executor, "submit", None)):
        future._begin_on(executor)
    else:
        raise UserTypeError(
            f"'executor' is {type(executor).__name__}, but a concurrent.futures.Executor is expected."
        )
    return future


def _program(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], target: str | None
) -> _Program:
    sample = None if function._options.static else sample_of(args, kwargs)
    return (
        _Program(function, sample, args, kwargs, target)
        if sample is None
        else _Program(function, sample, (), {}, target)
    )


def compile_function(
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    target: str | None,
    executor: Executor | None,
) -> CompileFuture:
    """What Function.compile_async does."""
    return _submitted(_program(function, args, kwargs, target), executor)


def compile_source_async(
    source: str, signature: Signature, *, executor: Executor | None = None, **options: Any
) -> Future[Artifact]:
    """`compile_source` as a future: on threads of this process, or on an executor. The options are those of it."""
    return _submitted(_Source(source, signature, options), executor)


def _job(job: Any, number: int) -> _Program | _Source:
    parts = job if isinstance(job, tuple) else (job,)
    if parts and isinstance(parts[0], Function):
        return _program(parts[0], parts[1:], {}, None)
    if len(parts) in (2, 3) and isinstance(parts[0], str) and isinstance(parts[1], Signature):
        return _Source(parts[0], parts[1], dict(parts[2]) if len(parts) == 3 else {})
    raise UserTypeError(
        f"Job {number} is {type(job).__name__}, but a decorated function, a tuple of one and its arguments, or a tuple of"
        " C++ text, a fr.Signature and perhaps a dict of options is expected."
    )


def compile_many(jobs: Iterable[Any], *, executor: Executor | None = None) -> list[Artifact]:
    """Compile several programs side by side; returns their artifacts in the order of the jobs.

    jobs: decorated functions with annotations, tuples `(function, *sample)`, tuples `(source, signature)` or
    `(source, signature, options)` of source kernels. executor: any `concurrent.futures.Executor`; without one, threads of
    this process. However many there are, only as many compile at once as there are cores, and memory for them.

    The first error, in the order of the jobs, is raised when the compilations that run have ended; those that have not
    begun are taken back. KeyboardInterrupt ends all of them.
    """
    whole = [_job(job, number) for number, job in enumerate(jobs)]
    futures: list[CompileFuture] = []
    try:
        futures += (_submitted(what, executor) for what in whole)
        return [future.result() for future in futures]
    except BaseException as error:
        for future in futures:
            if isinstance(error, Exception):
                future.cancel()
            else:
                future._stop()
        wait(futures)
        raise


def warm(function: Function, samples: Sequence[tuple[Any, ...]], executor: Executor | None) -> list[Artifact]:
    """What Function.warm does."""
    for sample in samples:
        if not isinstance(sample, tuple):
            raise UserTypeError(
                f"A sample for '{function.__name__}' is {type(sample).__name__}, but a tuple of its arguments is expected."
            )
    return compile_many([(function, *sample) for sample in samples or [()]], executor=executor)
