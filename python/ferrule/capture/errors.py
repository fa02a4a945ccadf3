"""Where in the user's source something happens, and the exceptions that end or steer a capture.

Everything that steers a capture derives from BaseException, so that a user's `except Exception:` cannot swallow it and
capture the wrong path. `boundary` turns what escapes into the public exceptions of `ferrule.errors`.
"""

from __future__ import annotations

import bisect
import dis
import os
import re
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

import numpy as np

from ferrule import errors as public

_E = TypeVar("_E", bound=BaseException)

Location = tuple[str, int, str]  # file, line, function

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

# Code objects that the rewrite made, by id: (the code, kept alive; whether it is a piece of the function around it).
_generated: dict[int, tuple[CodeType, bool]] = {}
# The line tables of those that were asked for, by the same ids.
_line_tables: dict[int, tuple[list[int], list[int | None]]] = {}

_KINDS: dict[type[Exception], type[public.UserError]] = {
    TypeError: public.UserTypeError,
    ValueError: public.UserValueError,
    OverflowError: public.UserOverflowError,
    BufferError: public.UserBufferError,
    IndexError: public.UserIndexError,
    np.exceptions.AxisError: public.UserAxisError,
    ZeroDivisionError: public.UserZeroDivisionError,
    UnboundLocalError: public.UserUnboundLocalError,
    RuntimeError: public.UserRuntimeError,
    MemoryError: public.UserMemoryError,
}


class Control(BaseException):
    """Steers a capture; never seen by the user."""


class Retrace(Control):
    """`storage` needs a buffer before the region that is being traced begins."""

    def __init__(self, storage: Any) -> None:
        super().__init__()
        self.storage = storage


class NeedsRuntime(Control):
    """`condition` changes within a call, so no guard can decide it."""

    def __init__(self, condition: Any) -> None:
        super().__init__()
        self.condition = condition


class Trapped(Control):
    """The branch that is being traced ends in a run-time trap: its site, FrErrorCode and what Python raises there."""

    def __init__(self, site: int, code: Any, error: BaseException | type[BaseException]) -> None:
        super().__init__()
        self.site = site
        self.code = code
        self.error = error


class Abort(Control):
    """Ends the capture with a public exception."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class CaptureError(Abort):
    """Ends the capture with a UserError at the user's line."""

    def __init__(self, message: str) -> None:
        super().__init__(_mark(public.UserError(located(message))))


def unsupported(construct: str, instead: str = "") -> Abort:
    """An exception to raise for valid NumPy or Python that is not compiled: names the construct and what to do."""
    text = f"{construct} {instead}" if instead else construct
    error = public.Unsupported(located(text))
    return Abort(_mark(error) if locations() else error)


def unsupported_at(place: str, text: str) -> Abort:
    """The same for a line that is not the one that is running now."""
    return Abort(_mark(public.Unsupported(f"{place}: {text}")))


def user_error(kind: type[Exception], message: str) -> public.UserError:
    """An exception to raise where NumPy or Python would raise `kind` at run time; a user's handler may catch it."""
    error = _KINDS.get(kind, public.UserError)(located(message))
    error.said = message  # type: ignore[attr-defined]
    return _mark(error)


def said(error: Exception) -> str:
    """The message of an exception without the line before it."""
    return str(getattr(error, "said", error))


def raised_at(error: BaseException) -> list[Location]:
    """The user's lines that were running when an exception was raised, as `locations` gives them."""
    return [
        (frame.f_code.co_filename, line, _owner_name(frame.f_code))
        for frame, _, line in reversed(_entries(error.__traceback__))
    ]


def located(message: str) -> str:
    """The message behind the user's line; where a helper is running, the line of its call follows."""
    stack = locations()
    if not stack:
        return message
    file, line, _ = stack[0]
    message = message if message.endswith((".", "?")) else f"{message}."
    callers = "".join(f" Called from {file}:{line}, in '{function}'." for file, line, function in stack[1:4])
    return f"{file}:{line}: {message}{callers}"


def place() -> str:
    """The user's line that is running now, as file:line."""
    stack = locations()
    return f"{stack[0][0]}:{stack[0][1]}" if stack else "?"


def locations() -> list[Location]:
    """The user's lines that are running, innermost first, one for each call of a rewritten function."""
    found: list[Location] = []
    inside = False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        known = _generated.get(id(frame.f_code))
        if known is not None:
            if not inside:
                found.append((frame.f_code.co_filename, _line(frame), _owner_name(frame.f_code)))
            inside = known[1]
        frame = frame.f_back
    return found


def _line(frame: FrameType) -> int:
    """The line of a frame of a rewritten function.

    Python's own answer (f_lineno) reads the line table from its start, so that a capture of a long function, which asks at
    each operation, would take time by the square of its length.
    """
    code = frame.f_code
    table = _line_tables.get(id(code))
    if table is None:
        table = _line_tables[id(code)] = _line_table(code)
    starts, lines = table
    return lines[bisect.bisect_right(starts, frame.f_lasti) - 1] or code.co_firstlineno


def _line_table(code: CodeType) -> tuple[list[int], list[int | None]]:
    """Where the instructions of each line begin, and the lines; None where instructions belong to none."""
    entries = [*code.co_lines()]
    return [start for start, _, _ in entries], [line for _, _, line in entries]


def variables() -> Iterator[tuple[str, Any]]:
    """Names and values of all the variables of the user's functions that are running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_generated(frame.f_code):
            yield from frame.f_locals.items()
        frame = frame.f_back


def _owner_name(code: CodeType) -> str:
    if code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
        qualified = getattr(code, "co_qualname", "").split(".<locals>")
        return qualified[-2].rpartition(".")[2] if len(qualified) > 1 else code.co_name
    return code.co_name


def register(code: CodeType, piece: bool) -> None:
    """Tells that the rewrite made this code; `piece` marks region bodies, operands and comprehensions."""
    _generated[id(code)] = (code, piece)


def is_generated(code: CodeType) -> bool:
    """Whether the rewrite made this code."""
    return id(code) in _generated


def _mark(error: _E) -> _E:
    error.located = True  # type: ignore[attr-defined]
    return error


# Python names the types of operands, which are the stand-ins'.
_REAL = {
    f"{quote}{ours}{quote}": f"{quote}{real}{quote}"
    for ours, real in (("Array", "ndarray"), ("Int", "int"), ("Scalar", "number"), ("Cond", "bool"))
    for quote in "'\""
}
_STAND_INS = re.compile("|".join(_REAL))


def names_stand_in(text: str) -> bool:
    """Whether a message of Python's names the type of a stand-in."""
    return _STAND_INS.search(text) is not None


class boundary:  # noqa: N801
    """Everything that a capture raises leaves this context as a public exception, located, with a clean traceback."""

    def __init__(self, fn: Any = None) -> None:
        self.fn = fn
        self.arguments: Mapping[str, Any] = {}

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is None or not isinstance(error, (Exception, Control)):
            return
        public_error = _published(error)
        if isinstance(public_error, public.UserOverflowError):
            public_error = self._of_sizes(public_error)
        if type(public_error) in (TypeError, AttributeError):
            public_error = self._of_python(public_error)
        if isinstance(public_error, public.Unsupported) and not getattr(public_error, "located", False):
            public_error = _mark(public.Unsupported(_at_function(self.fn, str(public_error))))
        # The frame that entered this context is in the traceback once more when the exception leaves it.
        cleaned = clean(traceback.tb_next if traceback is not None else None)
        try:
            if public_error is error and error.__context__ is not None and not error.__suppress_context__:
                raise error.with_traceback(cleaned)
            raise public_error.with_traceback(cleaned) from error.__cause__
        finally:
            # This frame is in the traceback: referring to the exception it would keep the arguments until a collection.
            del error, public_error

    def _of_sizes(self, error: BaseException) -> BaseException:
        """An overflow of 64 bits, with the arguments that come near the limit."""
        hints = "".join(
            f" The argument '{name}' is {value}: sizes and ints, and what is computed of them, must lie between -2**63 and"
            " 2**63 - 1."
            for name, value in self.arguments.items()
            if isinstance(value, (int, np.integer))
            and abs(int(value)) >= 2**62
            and f"'{name}'" not in str(error)
        )
        return _mark(public.UserOverflowError(f"{error}{hints}")) if hints else error

    def _of_python(self, error: BaseException) -> BaseException:
        """Python's refusal of an operand: with the user's words for the stand-ins, and the arguments of those types."""
        text = _STAND_INS.sub(lambda found: _REAL[found[0]], str(error))
        hints = "".join(
            f" The argument '{name}' is {'None' if value is None else f'of type {type(value).__name__}'}."
            for name, value in self.arguments.items()
            if f"'{type(value).__name__}'" in text
        )
        if not hints and text == str(error):
            return error
        return _mark(public.UserTypeError(_behind(error, f"{text}.{hints}")))


def _published(error: BaseException) -> BaseException:
    """The public exception for what ends a capture."""
    if isinstance(error, Abort):
        return error.error
    if isinstance(error, NeedsRuntime):
        text = (
            "A value that changes within a call was needed as a Python bool by code that is not traced."
            " Decide by it with 'if', 'while' or np.where in the program itself."
        )
        return _mark(public.Unsupported(_behind(error, text)))
    if isinstance(error, Control):
        return _mark(
            public.InternalError(_behind(error, f"A capture lost its way ({type(error).__name__})."))
        )
    if isinstance(error, RecursionError):
        text = (
            "A recursion does not end at capture, or is deeper than capture can follow, which takes three frames of Python's"
            f" {sys.getrecursionlimit()} for a call. Its end must not depend on data; write a deep one as a loop."
        )
        return _mark(public.Unsupported(_behind(error, text)))
    if isinstance(error, public.Error) and not getattr(error, "located", False):
        text = _behind(error, str(error))
        return _mark(type(error)(text)) if text != str(error) else error
    return error


def _at_function(fn: Any, message: str) -> str:
    """The message behind the line on which a function begins."""
    code = getattr(fn, "__code__", None)
    return message if code is None else f"{code.co_filename}:{code.co_firstlineno}: {message}"


def return_place(code: CodeType) -> str:
    """Where a function returns, if it does so on one line; else where it begins."""
    lines = set()
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = instruction.starts_line or line
        if instruction.opname in ("RETURN_VALUE", "RETURN_CONST"):
            lines.add(line)
    return f"{code.co_filename}:{lines.pop() if len(lines) == 1 else code.co_firstlineno}"


def _behind(error: BaseException, message: str) -> str:
    """The message behind the innermost of the user's lines in the error's traceback."""
    entries = _entries(error.__traceback__)
    if not entries:
        return message
    (frame, _, line), *callers = reversed(entries)
    text = "".join(
        f" Called from {f.f_code.co_filename}:{n}, in '{f.f_code.co_name}'." for f, _, n in callers[:3]
    )
    return f"{frame.f_code.co_filename}:{line}: {message}{text}"


def _entries(traceback: TracebackType | None) -> list[tuple[FrameType, int, int]]:
    """The rewritten functions' entries of a traceback, one for each call, outermost first."""
    found: list[tuple[FrameType, int, int]] = []
    while traceback is not None:
        known = _generated.get(id(traceback.tb_frame.f_code))
        if known is not None:
            if known[1] and found:
                found.pop()
            found.append((traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def clean(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without our own frames, and with one entry for each call of a rewritten function."""
    kept: list[tuple[FrameType, int, int, bool]] = []
    while traceback is not None:
        frame = traceback.tb_frame
        known = _generated.get(id(frame.f_code))
        entry = (frame, traceback.tb_lasti, traceback.tb_lineno, known is not None)
        if known is not None:
            if known[1] and kept and kept[-1][3]:
                kept.pop()
            kept.append(entry)
        elif not frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(entry)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for frame, instruction, line, _ in reversed(kept):
        result = TracebackType(result, frame, instruction, line)
    return result
