"""The exceptions of Ferrule. Each takes one string, and user errors also are the builtin that Python would raise."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from types import TracebackType

from numpy.exceptions import AxisError

__all__ = [
    "BuildError",
    "Error",
    "IncompatibleArtifact",
    "InternalError",
    "Unsupported",
    "UserAssertionError",
    "UserAxisError",
    "UserBufferError",
    "UserError",
    "UserIndexError",
    "UserMemoryError",
    "UserOverflowError",
    "UserRuntimeError",
    "UserTypeError",
    "UserUnboundLocalError",
    "UserValueError",
    "UserZeroDivisionError",
]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Error(Exception):
    """Base class of everything that Ferrule raises on purpose."""


class UserError(Error):
    """The program or its arguments are wrong; the text says what to do."""


class UserTypeError(UserError, TypeError):
    """A wrong kind of object, dtype, byte order or argument name."""


class UserValueError(UserError, ValueError):
    """A wrong rank, shape, stride, alignment, symbol, or a read-only array that is written."""


class UserOverflowError(UserError, OverflowError):
    """An integer out of the range of its declared type."""


class UserBufferError(UserError, BufferError):
    """Something that an exchange protocol cannot express or deliver."""


class UserIndexError(UserError, IndexError):
    """An index out of bounds, found while the program ran."""


class UserAxisError(UserValueError, AxisError):
    """An axis out of bounds for the rank: also NumPy's own, an IndexError and a ValueError."""


class UserZeroDivisionError(UserError, ZeroDivisionError):
    """A division of Python ints by zero."""


class UserUnboundLocalError(UserError, UnboundLocalError):
    """A name read before it was assigned."""


class UserRuntimeError(UserError, RuntimeError):
    """A failure of the program while it ran."""


class UserAssertionError(UserRuntimeError, AssertionError):
    """An assert of the program that failed while it ran."""


class UserMemoryError(UserError, MemoryError):
    """Memory that the program needs and the system does not have."""


class Unsupported(Error, NotImplementedError):
    """Valid NumPy or Python that Ferrule does not do; the text names the construct."""


class BuildError(Error):
    """The C++ compiler failed; the text holds the command and its first error."""


class IncompatibleArtifact(Error):
    """An artifact made for another version of the ABI or another processor."""


class InternalError(Error):
    """A defect of Ferrule; please report it with the dump that the text names."""


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """How the sentence about an unknown name ends: with the known one that may be meant, or with `otherwise`."""
    near = near_name(name, known)
    return f"; did you mean '{near}'?" if near else f"; {otherwise}"


def near_name(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most alike, if one is alike at least by `cutoff`, 0 to 1."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(known), 1, cutoff)), None)


def warn(message: str) -> None:
    """A RuntimeWarning at the first line outside of Ferrule: the user's call."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)


def shown_traceback(error: BaseException, traceback: TracebackType) -> TracebackType | None:
    """What a user sees of the traceback of a call: the frames of this package that it begins with are left out.

    They stay where they tell something: of an InternalError, and of what else was raised within this package.
    """
    last = traceback
    while last.tb_next is not None:
        last = last.tb_next
    if isinstance(error, InternalError) or (not isinstance(error, Error) and _is_own(last)):
        return traceback
    first: TracebackType | None = traceback
    while first is not None and _is_own(first):
        first = first.tb_next
    return first


def _is_own(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.startswith(_PACKAGE)
