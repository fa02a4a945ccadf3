"""What a name holds that is assigned for some data only: a value, and whether it is there."""

from __future__ import annotations

from typing import Any

from .trace import Trace


class Maybe:
    """The value of a name and the traced bool that tells whether the name has it."""

    __slots__ = ("checked", "is_set", "value")

    def __init__(self, value: Any, is_set: Any) -> None:
        self.value = value
        self.is_set = is_set
        self.checked: int | None = None  # the region in which a read has found it set

    @property
    def is_sure(self) -> bool:
        """Whether the program has stopped by now where the name has no value."""
        return self.checked is not None and Trace.current().is_live(self.checked)

    def read(self, name: str) -> Any:
        """The value; the program stops here if there is none."""
        if not self.is_sure:
            from . import traps

            traps.check_set(self.is_set, name)
            self.checked = Trace.current().region
        return self.value


def unset_message(name: str) -> str:
    """What Python says of a name without a value."""
    return f"cannot access local variable '{name}' where it is not associated with a value"
