"""Source kernels: an author's C or C++ text with a signature becomes an Artifact, without capture."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence

from ferrule import placement, session
from ferrule.artifact import Artifact
from ferrule.config import setting, validate
from ferrule.errors import UserTypeError, UserValueError
from ferrule.session import BuildSettings
from ferrule.signature import Signature
from ferrule.spent import Spent, print_times


def compile_source(
    source: str,
    signature: Signature,
    *,
    target: str | None = None,
    build: str | None = None,
    flags: Sequence[str] = (),
    standard_library: bool = True,
    time_limit: float = 600.0,
    adapter: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    folder_mode: str | None = None,
    name_collision: str | None = None,
    reuse_loaded: bool | None = None,
    layout: str | None = None,
) -> Artifact:
    """Compile an author's function and return it as an Artifact, from the store where it is there already.

    source: one C++ translation unit that defines the function that the signature names; it may include headers and need
    not know Ferrule. target: 'native', 'baseline' or 'multi'; build: 'release' or 'debug'; both default to the configuration.
    flags: further words for the compiler, part of the key. standard_library: link libstdc++ and allow exceptions, which
    must not leave the function. time_limit: seconds for the compiler. adapter: 'module:qualname' of a callable that
    `Artifact.load` gives the kernel to and whose result it returns; part of the key. folder, folder_mode, name_collision,
    reuse_loaded, layout: a folder of the user's for the files, see docs/folders.md; no part of the key.

    Raises BuildError with the first error of the compiler, at the author's line; UserValueError for target 'reference',
    since C++ text cannot be evaluated (where the configuration says so, it is 'native'); UserRuntimeError for a name that
    is taken with name_collision='error'.
    """
    from ferrule import _compiler

    if not isinstance(source, str):
        raise UserTypeError(f"'source' is {type(source).__name__}, but C++ text is expected.")
    if not isinstance(signature, Signature):
        raise UserTypeError(f"'signature' is {type(signature).__name__}, but a fr.Signature is expected.")
    how = placement.placing(folder, folder_mode, name_collision, reuse_loaded, layout)
    settings = BuildSettings.current(_target(signature, target))
    binding = session.binding_text(adapter, signature=json.loads(signature.to_json()))
    emitted = _compiler.emit_source_kernel(signature.to_json(), source)
    emitted_at = time.perf_counter()
    into = session.store()
    with session.watched_compile(signature.name):
        value, counts = into.compile(
            signature.name,
            emitted["source"],
            binding=binding,
            program=emitted["ingredients"],
            compiler=settings.compiler,
            target=settings.target,
            mode=validate("build", build) if build is not None else settings.mode,
            extra_flags=[*settings.flags, *flags],
            standard_library=standard_library,
            time_limit=time_limit,
            include_dir=session.include_dir(),
            stop=session.stopping.get(),
        )
    session.warn_of(into)
    if setting("time"):
        compiler = counts["compiler_seconds"]
        around = time.perf_counter() - emitted_at - compiler
        print_times(signature.name, Spent(build=compiler, store=around, stages=dict(emitted["times"])))
    return placement.placed(Artifact(value), how)


def _target(signature: Signature, target: str | None) -> str:
    if target == "reference":
        raise UserValueError(
            f"'target' is 'reference' for '{signature.name}', but only programs can be evaluated; "
            "use 'native', 'baseline' or 'multi' for C++ text."
        )
    chosen: str = setting("target", target)
    return "native" if chosen == "reference" else chosen
