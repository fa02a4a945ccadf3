"""The extension module of the compiler; its objects are described where they are bound."""

from typing import Any

def __getattr__(name: str) -> Any: ...
