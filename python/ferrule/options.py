"""The options of one decorated function, checked when it is decorated and resolved when they are needed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from ferrule.config import from_outside, setting, validate
from ferrule.errors import Unsupported, UserTypeError, UserValueError

_ORDERS = (None, "C", "F", "inner", "any")


class Options:
    """The options of one decorated function, checked."""

    def __init__(
        self,
        static: Any,
        order: str | None,
        target: str | None,
        num_threads: int | None,
        bounds_check: bool | None,
        fallback: str | None,
        strict_scalars: bool | None,
        recompile_limit: int | None,
        on_recompile_limit: str | None,
        check: bool | None,
        compile: str = "sync",
    ) -> None:
        names = _names(static)
        if order not in _ORDERS:
            raise UserValueError(f"'order' is {order!r}, but must be one of 'C', 'F', 'inner', 'any'.")
        _check_threads(num_threads)
        given = {
            "target": target,
            "bounds_check": bounds_check,
            "fallback": fallback,
            "strict_scalars": strict_scalars,
            "recompile_limit": recompile_limit,
            "on_recompile_limit": on_recompile_limit,
            "check": check,
        }
        for name, value in given.items():
            if value is not None:
                validate(name, value)
        self.static = names
        self.order = order
        self.compile = compile
        self._given = given

    def __reduce__(self) -> tuple[Any, ...]:
        # One text, since a pickle of the parts depends on which of their strings are one object.
        return _from_json, (json.dumps([self.static, self.order, self.compile, self._given], sort_keys=True),)

    def value(self, name: str) -> Any:
        """An option as argument, configuration, environment or default give it now."""
        return setting(name, self._given[name])

    def is_checked(self) -> bool:
        """Whether every call is compared with NumPy: by the argument, or where it leaves that open by the environment."""
        given = self._given["check"]
        return bool(from_outside("check") if given is None else given)

    def without_check(self) -> Options:
        """The same options with check=False; what is compared must be compiled."""
        other = copy.copy(self)
        other.compile = "sync"
        other._given = {**self._given, "check": False}
        return other

    def for_capture(self, *, arguments_may_alias: bool = False) -> Any:
        """What of the options a capture needs, as ferrule.capture.Options."""
        from ferrule import capture

        return capture.Options(
            static=self.static,
            order=self.order,
            bounds_check=self.value("bounds_check"),
            arguments_may_alias=arguments_may_alias,
        )

    def facts(self) -> dict[str, str]:
        """What of the options changes a capture or a binding, by name."""
        names = ("bounds_check", "strict_scalars")
        return {
            "static": ", ".join(self.static),
            "order": str(self.order),
            **{name: str(self.value(name)) for name in names},
        }

    def text(self) -> str:
        """The same as one text, for the key of a warm record."""
        return repr((self.static, self.order, self.value("bounds_check"), self.value("strict_scalars")))


def _names(static: Any) -> tuple[str, ...]:
    if isinstance(static, str):
        return (static,)
    if not isinstance(static, Iterable):
        raise UserTypeError(f"'static' is {static!r}, but must be the name of an argument, or several.")
    names = tuple(static)
    for name in names:
        if not isinstance(name, str):
            raise UserTypeError(f"'static' holds {name!r}, but must hold names of arguments.")
    return names


def _check_threads(number: Any) -> None:
    if number is None:
        return
    if type(number) is not int:
        raise UserTypeError(f"'num_threads' is {number!r}, but must be an int or None.")
    if number < 1:
        raise UserValueError(f"'num_threads' is {number}, but must be at least 1.")
    if number > 1:
        raise Unsupported(
            f"'num_threads' is {number}: emitted code runs on one thread for now; use None or 1."
        )


def _from_json(text: str) -> Options:
    static, order, compile, given = json.loads(text)
    made: Options = Options.__new__(Options)
    made.static, made.order, made.compile, made._given = tuple(static), order, compile, given
    return made
