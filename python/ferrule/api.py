"""`@fr.program`: the decorator and its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from ferrule.errors import Unsupported, UserTypeError, UserValueError, nearest
from ferrule.function import Function
from ferrule.options import Options


@overload
def program(fn: Callable[..., Any], /) -> Function: ...
@overload
def program(
    fn: None = None,
    *,
    static: Any = ...,
    order: str | None = ...,
    target: str | None = ...,
    num_threads: int | None = ...,
    bounds_check: bool | None = ...,
    fallback: str | None = ...,
    compile: str = ...,
    autotune: bool | str = ...,
    recompile_limit: int | None = ...,
    on_recompile_limit: str | None = ...,
    strict_scalars: bool | None = ...,
    check: bool | None = ...,
) -> Callable[[Callable[..., Any]], Function]: ...
def program(
    fn: Callable[..., Any] | None = None,
    *,
    static: Any = (),
    order: str | None = None,
    target: str | None = None,
    num_threads: int | None = None,
    bounds_check: bool | None = None,
    fallback: str | None = None,
    compile: str = "sync",
    autotune: bool | str = False,
    recompile_limit: int | None = None,
    on_recompile_limit: str | None = None,
    strict_scalars: bool | None = None,
    check: bool | None = None,
    **unknown: Any,
) -> Any:
    """Compile a NumPy function at its first call, or ahead of time where its arguments are annotated.

    Tracing repeats what the function prints; calls of the native module do not. Changes of lists, dicts, objects and
    globals that live outside of the function are refused.

    Parameters
    ----------
    static : name or names of arguments whose values are fixed in a specialisation
    order : layout class of annotated arrays without one: 'C' (default), 'F', 'inner', 'any'
    target : 'native', 'baseline' (x86-64-v3 or armv8-a) or 'multi' (a module for each of x86-64-v2, -v3 and -v4 in one
        artifact; the best that the host can run is loaded); 'reference' evaluates the program operation by operation,
        slowly, for whoever doubts a result
    num_threads : None or 1
    bounds_check : check indices that only the run knows (default True)
    fallback : 'python' runs an Unsupported function as Python, with one warning that gives the reason
    compile : 'async' compiles in the background: calls run the Python function until the native code is there, and an
        error of the compilation is raised by the next call with such arguments
    recompile_limit, on_recompile_limit : so many specialisations (16) 'warn' once, or raise ('error')
    strict_scalars : refuse every conversion of scalar arguments
    check : also run NumPy on copies at every call and raise where the results differ

    Options left at None come from `fr.config`, FERRULE_* variables or the defaults.

    Examples
    --------
    >>> @program
    ... def twice(a):
    ...     return a * 2.0
    >>> twice(np.arange(3.0))
    array([0., 2., 4.])
    """
    if unknown:
        name, known = next(iter(unknown)), [*(program.__kwdefaults__ or ())]
        ending = nearest(name, known, f"the options are {', '.join(known)}.")
        raise UserTypeError(f"'{name}' is no option of a program{ending}")
    if compile not in ("sync", "async"):
        raise UserValueError(f"'compile' is {compile!r}, but must be 'sync' or 'async'.")
    if autotune not in (False, True, "max"):
        raise UserValueError(f"'autotune' is {autotune!r}, but must be False, True or 'max'.")
    if autotune is not False:
        raise Unsupported("autotune is not supported yet; leave it at False.")
    options = Options(
        static,
        order,
        target,
        num_threads,
        bounds_check,
        fallback,
        strict_scalars,
        recompile_limit,
        on_recompile_limit,
        check,
        compile,
    )
    if fn is None:
        return lambda function: Function(function, options)
    return Function(fn, options)


__all__ = ["Function", "program"]
