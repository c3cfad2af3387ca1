# mypy: ignore-errors
"""Replace slow spots of numba's front end, with the same answers: a third of its time when a whole core is built.

This changes numba for the whole process, so it is done only in processes that do nothing but compile.
"""

from numba.core import base, ir, postproc, targetconfig, transforms
from numba.core.types.functions import BaseFunction


def quicken() -> None:
    """Replace them, in the rest of this process."""
    _list_variables()
    _flags()
    _calls_of_built_ins()
    _sizes()
    _life_of_variables()
    ir.Loc.__deepcopy__ = lambda self, memo: self  # nobody changes a place in a file


def _list_variables() -> None:
    """List the variables of an instruction without a list for each of its parts."""
    variable, instruction, expression = ir.Var, ir.Inst, ir.Expr
    leaves = {str, int, bool, float, type(None), ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg}

    def collect(values, out):
        for value in values:
            kind = type(value)
            if kind is variable:
                out.append(value)
            elif kind in leaves:
                continue
            elif kind is expression:
                collect(value._kws.values(), out)
            elif isinstance(value, (list, tuple)):
                collect(value, out)
            elif isinstance(value, dict):
                collect(value.values(), out)
            elif isinstance(value, variable):
                out.append(value)
            elif isinstance(value, instruction):
                out.extend(value.list_vars())

    def list_variables(self, value):
        out = []
        collect((value,), out)
        return out

    instruction._rec_list_vars = list_variables


def _flags() -> None:
    """Compare and hash the flags of compilations without copies of all their values."""
    config, hashes = targetconfig.TargetConfig, {}

    def equal(self, other):
        if self is other:
            return True
        if not isinstance(other, config):
            return NotImplemented
        if type(self) is not type(other):
            return self.values() == other.values()
        mine, theirs = self._values, other._values
        return mine == theirs or all(getattr(self, k) == getattr(other, k) for k in {*mine, *theirs})

    def number(self):
        kind = type(self)
        if kind not in hashes:
            hashes[kind] = hash(tuple(sorted(self.options)))
        return hashes[kind]

    config.__eq__, config.__hash__ = equal, number


def _calls_of_built_ins() -> None:
    """Find the template of a built-in function once for the same types: numba tries all of them at every call."""
    find, known = BaseFunction.get_call_type, {}

    def call_type(self, context, args, kws):
        key = (self, args, tuple(sorted(kws.items())))
        if key not in known:
            known[key] = find(self, context, args, kws)
        return known[key]

    BaseFunction.get_call_type = call_type


def _sizes() -> None:
    """Ask LLVM once for the size of a type: each question parses a module."""

    def remembered(ask):
        known = {}

        def answer(self, kind):
            name = str(kind)
            if name not in known:
                known[name] = ask(self, kind)
            return known[name]

        return answer

    context = base.BaseContext
    context.get_abi_sizeof = remembered(context.get_abi_sizeof)
    context.get_abi_alignment = remembered(context.get_abi_alignment)


def _life_of_variables() -> None:
    """Do not list, after every pass, which variables live at the start of each block: only generators need it."""
    processor = postproc.PostProcessor
    usual = processor.run

    def run(self, emit_dels=False, extend_lifetimes=False):
        if self.func_ir.is_generator:
            return usual(self, emit_dels, extend_lifetimes)
        self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
        self.func_ir.variable_lifetime = postproc.VariableLifetime(self.func_ir.blocks)
        self.func_ir.generator_info = None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    processor.run = run
