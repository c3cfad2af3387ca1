# mypy: ignore-errors
"""Lower functions with numba to LLVM code, and keep that code as text.

Numba optimises every function that it compiles together with copies of all it calls, and turns each into
machine code of its own: a kernel at depth d is worked on d times over. Of the core's functions nobody but
other compiled functions ever calls the machine code. After `start()`, numba only types and lowers; what
the functions become is decided once, for all of them together (`machine.py`).

A process that calls `start()` keeps to it: the functions lowered have no machine code, so nothing in this
process can call them.
"""

import gc

from numba.core import codegen, compiler, cpu
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext

from .llvm_text import Definitions
from .quicker import quicken

DEFINITIONS = Definitions()  # of everything lowered in this process
_started = False
_MUCH = 3_000_000  # objects since the last collection, which takes a second


class _TextLibrary(codegen.JITCodeLibrary):
    """Code library of numba's that keeps nothing but text."""

    def __init__(self, owner, name):
        codegen.CodeLibrary.__init__(self, owner, name)
        self._linking_libraries = []

    def add_linking_library(self, library):
        pass

    def add_ir_module(self, ir_module):
        DEFINITIONS.add(codegen.cgutils.normalize_ir_text(str(ir_module)))

    def finalize(self):
        self._finalized = True

    def get_pointer_to_function(self, name):
        return 0


def start() -> None:
    """Make numba lower only, in the rest of this process."""
    global _started
    if _started:
        return
    owner = cpu_target.target_context.codegen()  # initializes what is compiled the ordinary way
    owner._library_class = _TextLibrary
    owner.set_env = lambda *_: None
    cpu.CPUContext.create_cpython_wrapper = lambda *_, **__: None
    cpu.CPUContext.create_cfunc_wrapper = lambda *_, **__: None
    # Code that allocates nothing has nothing to count; if something does allocate, its symbol fails the link
    NRTContext.incref = NRTContext.decref = lambda *_: None
    quicken()
    gc.freeze()
    gc.disable()  # the compiler makes millions of objects and no cycles worth looking for
    _started = True


def lower(function, signature) -> str:
    """Return the name of numba's form of a function: int32 f(result *, exception **, arguments)."""
    flags = compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.nrt = True
    flags.error_model = "numpy"
    result = compiler.compile_extra(
        cpu_target.typing_context, cpu_target.target_context, function, signature.args,
        signature.return_type, flags, {},
    )  # fmt: skip
    return result.fndesc.llvm_func_name


def collect_garbage() -> None:
    """Collect what the compiler has left over, if it is much. What survives is not looked at again."""
    if gc.get_count()[0] > _MUCH:
        gc.collect()
        gc.freeze()
