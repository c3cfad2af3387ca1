"""Key under which the compiled form of an element is kept on the disk: a digest of everything it depends on.

Compiled code depends on the generated source, on the files of the author's functions, and on the constants
and default values that it holds frozen.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np


def keepable(functions: set[Callable[..., Any]]) -> bool:
    """Tell whether compiled code may go to the disk: all functions are from importable files, none a closure."""

    def from_file(function: Callable[..., Any]) -> bool:
        module = sys.modules.get(function.__module__)
        return (
            getattr(module, "__dict__", None) is function.__globals__
            and Path(inspect.getsourcefile(function) or "").is_file()
            and not function.__closure__
        )

    return all(from_file(f) for f in functions)


def cache_key(source: str, cls: type, functions: set[Callable[..., Any]]) -> str:
    """Return the digest of the generated source, the class and the author's functions."""
    parts = (source, cls.__qualname__, sources_of(functions), constants_of(functions))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def sources_of(functions: set[Callable[..., Any]]) -> str:
    """Return the whole files of the functions, and which of their lines are meant.

    Modules are named, because compiled code knows them by name. One line may hold several lambdas, and a loop
    makes many functions that differ only in their defaults: so code and defaults count as well.
    """
    files = sorted({inspect.getsourcefile(f) or "" for f in functions})
    lines = sorted(
        (f.__module__, f.__qualname__, f.__code__.co_firstlineno, _code(f.__code__), *_defaults(f))
        for f in functions
    )
    return "\n".join([*(Path(f).read_text() for f in files), repr(lines)])


def _code(code: CodeType) -> str:
    """Return the code of a function, independent of its name and place."""
    constants = [_code(c) if inspect.iscode(c) else repr(c) for c in code.co_consts]
    return repr((code.co_code.hex(), code.co_names, code.co_varnames, constants))


def _defaults(function: Callable[..., Any]) -> list[str]:
    """Return the default values of the arguments, which compiled code holds frozen."""
    values = [
        *(function.__defaults__ or ()),
        *(x for _, x in sorted((function.__kwdefaults__ or {}).items())),
    ]
    return [
        f"{x.shape} {x.dtype} {hashlib.sha256(x.tobytes()).hexdigest()}"
        if isinstance(x, np.ndarray)
        else repr(x)
        for x in values
    ]


def constants_of(functions: set[Callable[..., Any]]) -> str:
    """Return the module constants that the functions use, from any file; compiled code holds them frozen."""
    from .numba_side import names_in

    found = []
    for function in functions:
        names = sorted(names_in(function.__code__))
        for name in names:
            value = function.__globals__.get(name)
            values = [(name, value)]
            if inspect.ismodule(value):
                values = [(f"{name}.{n}", getattr(value, n, None)) for n in names]
            for label, x in values:
                if isinstance(x, np.ndarray):
                    found.append(
                        f"{function.__qualname__} {label}: {x.shape} {hashlib.sha256(x.tobytes()).hexdigest()}"
                    )
                elif isinstance(x, (int, float, complex, str, tuple, np.generic)):
                    found.append(f"{function.__qualname__} {label}: {x!r}")
    return "\n".join(sorted(found))
