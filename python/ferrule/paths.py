"""Paths that users give."""

from __future__ import annotations

import os
from typing import Any

from ferrule.errors import UserTypeError, UserValueError


def text_of(path: Any, what: str, kind: str = "the path of a file") -> str:
    """A path as text. Raises UserTypeError for what is none, UserValueError for what no UTF-8 text can say."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise UserTypeError(f"'{what}' is {type(path).__name__}, but {kind} is expected.") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserValueError(f"'{what}' is {text!r}, but only paths in UTF-8 are supported.") from None
    if not text or "\0" in text:
        raise UserValueError(f"'{what}' is {text!r}, but {kind} is expected.")
    return text


def absolute(path: str) -> str:
    """A path from the root. Raises UserValueError for a relative one where the current folder is gone."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise UserValueError(
            f"'{path}' is not found, since the current folder is gone; give an absolute path."
        ) from None
