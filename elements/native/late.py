# mypy: ignore-errors
"""Let numba make machine code once for a C function and all it calls, not once for every function among them.

By itself numba optimises each function that it compiles together with copies of all it calls, and turns each
into machine code: a function at depth d is worked on d times over. But nobody calls the inner functions of an
element or of an entry point from Python. Inside `late_machine_code()` numba only types and lowers them; when
the C function around them is asked for its address, all of them are optimised as one module.

Functions lowered here are kept apart from those that numba compiles for others (`_lowered`). So a jitted function that an element uses
can be called from Python too: numba compiles it again then, in its own way. Code of one sort may still be
linked into the other: a library gives its module to whoever asks.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from weakref import WeakKeyDictionary, WeakSet

import llvmlite.binding as llvm
from numba.core import base, codegen, cpu, dispatcher, ir, postproc, targetconfig
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.types.functions import BaseFunction

_load_registries, _registered = cpu.CPUContext.load_additional_registries, WeakSet()
_ABSENT = object()
_lowered = WeakKeyDictionary()  # dispatcher -> {types of arguments: result of the compiler}


class LateLibrary(codegen.JITCodeLibrary):
    """Code library that keeps lowered code, and makes machine code when it is first asked for an address."""

    def __init__(self, owner, name):
        super().__init__(owner, name)
        self.texts, self.environment, self._names = [], None, set()

    def add_ir_module(self, ir_module):
        self.texts.append(codegen.cgutils.normalize_ir_text(str(ir_module)))

    def add_linking_library(self, library):
        self._linking_libraries.append(library)

    def finalize(self):
        """Do nothing: numba calls this when a function is lowered."""

    def _ensure_finalized(self):
        if not self._finalized:
            self._make()

    def _make(self):
        """Optimise this code and all that it needs as one module, and make it callable."""
        late, others = self._needed()
        for library in late:
            for text in library.texts:
                module = llvm.parse_assembly(text)
                for function in module.functions:
                    if not function.is_declaration:
                        function.linkage = "external" if library is self else "linkonce_odr"
                        self._names |= {function.name} if library is self else set()
                self._final_module.link_in(module)
        for library in others:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._names:
                function.linkage = "internal"
        self._optimize_functions(self._final_module)
        if others:  # numba's runtime among them: references are counted away in two rounds
            self._optimize_final_module()
        else:
            # Level 3 takes twice as long, mostly to unroll loops of the integrators; right-hand sides run no faster
            passes, builder = self._codegen._module_pass_manager(opt=2)
            passes.run(self._final_module, builder)
        self._final_module.verify()
        self._finalize_final_module()
        self._set_environments(late)

    def _needed(self):
        """Return the libraries that this one needs, however deep: the late ones, itself first, and numba's own."""
        late, others, todo = {}, {}, [self]
        while todo:
            library = todo.pop()
            if isinstance(library, LateLibrary) and not library._finalized:
                if library not in late:
                    late[library] = None
                    todo += library._linking_libraries
            else:
                others[library] = None
        if not any("@NRT_" in text for library in late for text in library.texts):  # nothing is allocated
            others.pop(rtsys.library, None)
        return list(late), list(others)

    def _set_environments(self, late):
        """Tell the code where Python keeps what its functions raise."""
        there = {variable.name for variable in self._final_module.global_variables}
        for library in late:
            if library.environment and library.environment[0] in there:
                self._codegen.set_env(*library.environment)


@contextmanager
def late_machine_code() -> Iterator[None]:
    """Lower only, inside the context; what is asked for its address becomes machine code as a whole.

    No other thread compiles meanwhile. Garbage is not collected: the compiler makes millions of objects and no cycles worth looking for.
    """
    with global_compiler_lock:
        owner, collecting = cpu_target.target_context.codegen(), gc.isenabled()
        rtsys.initialize(cpu_target.target_context)  # its library is numba's own
        replaced = {**_REPLACED, **_quicker(), (owner, "_library_class"): LateLibrary}
        usual = _now(replaced)
        try:
            gc.disable()
            _replace(replaced)
            yield
        finally:
            _replace(usual)
            if collecting:
                gc.enable()


def _replace(by_place):
    """Set attributes, each given by (object, name); take away those that were not there."""
    for (owner, name), value in by_place.items():
        if value is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def _now(places):
    return {(owner, name): getattr(owner, name, _ABSENT) for owner, name in places}


@cache
def _quicker():
    """Return what makes numba's front end quicker, by place; it is in force inside the context only."""
    from ..compilation.quicker import quicken

    usual = _now(_SLOW)
    try:
        quicken()
        return _now(_SLOW)
    finally:
        _replace(usual)


def _registries(self):
    """Look once for what numba's own modules register: it does so before every function."""
    if self not in _registered:
        _registered.add(self)
        _load_registries(self)


def _results(function):
    """Return what was lowered of a jitted function, by types of arguments."""
    return _lowered.setdefault(function, {})


def lowered(function, args):
    """Return the compiler's result for a jitted function and types of arguments, here or by numba's own way."""
    return _results(function).get(args) or function.overloads[args]


def _compile(self, sig):
    """Lower a jitted function for these types of arguments, in place of numba's compile()."""
    args, return_type = dispatcher.sigutils.normalize_signature(sig)
    known = _results(self)
    if tuple(args) not in known:
        with self._compiling_counter:
            try:
                known[tuple(args)] = self._compiler.compile(args, return_type)
            except dispatcher.errors.ForceLiteralArg as error:
                raise error.bind_fold_arguments(
                    lambda args, kws: self._compiler.fold_argument_types(args, kws)[1]
                ) from None
    return known[tuple(args)].entry_point


def _get_overload(self, sig):
    args, _ = dispatcher.sigutils.normalize_signature(sig)
    return _results(self)[tuple(args)].entry_point


def _signatures(self):
    return [result.signature for result in _results(self).values()]


def _executable(self, library, fndesc, env):
    """Return what the function is known by among others. Nobody calls it: it has no machine code."""
    library.environment = self.get_env_name(fndesc), env
    return object()


def _flags(self, flags):
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return flags


_REPLACED = {
    (dispatcher.Dispatcher, "compile"): _compile,
    (dispatcher._DispatcherBase, "get_overload"): _get_overload,
    (dispatcher._DispatcherBase, "nopython_signatures"): property(_signatures),
    (dispatcher._FunctionCompiler, "_customize_flags"): _flags,
    (cpu.CPUContext, "get_executable"): _executable,
    (cpu.CPUContext, "load_additional_registries"): _registries,
}
# What quicken() replaces
_SLOW = (
    (ir.Inst, "_rec_list_vars"), (targetconfig.TargetConfig, "__eq__"), (targetconfig.TargetConfig, "__hash__"),
    (BaseFunction, "get_call_type"), (base.BaseContext, "get_abi_sizeof"), (base.BaseContext, "get_abi_alignment"),
    (postproc.PostProcessor, "run"), (ir.Loc, "__deepcopy__"),
)  # fmt: skip
