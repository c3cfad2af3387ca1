# mypy: ignore-errors
"""Turn LLVM code into machine code: C functions without Python, optimised as a whole, for one kind of CPU."""

import llvmlite.binding as llvm

_WORDS = {"float64": "double", "int64": "i64", "int32": "i32"}
_ready = False


def prepare() -> None:
    """Set the options of LLVM. They are those of the process, so call this in a process of its own."""
    global _ready
    if _ready:
        return
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # A row of the mass matrix reads nine arrays: by default LLVM stops vectorising after eight overlap tests
    llvm.set_option("treemech", "--runtime-memory-check-threshold=32")
    _ready = True


def c_function(name: str, target: str, arguments) -> str:
    """Return LLVM code of the exported C function: it returns the result of numba's, or 0 if that raised."""
    arguments = ", ".join(f"{_WORDS.get(str(t), 'ptr')} %a{k}" for k, t in enumerate(arguments))
    return f"""
define i32 @{name}({arguments}) {{
  %result = alloca i32
  %exception = alloca ptr
  store i32 0, ptr %result
  %status = call i32 @"{target}"(ptr %result, ptr %exception, {arguments})
  %ok = icmp eq i32 %status, 0
  %value = load i32, ptr %result
  %answer = select i1 %ok, i32 %value, i32 0
  ret i32 %answer
}}
"""


def parsed(text: str) -> bytes:
    """Return the code as bitcode in which only functions named treemech_... are visible."""
    module = llvm.parse_assembly(text)
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and not symbol.name.startswith("treemech_"):
            symbol.linkage = "internal"
    return module.as_bitcode()


def emitted(bitcode: bytes, cpu: str, features: str) -> bytes:
    """Return the code, optimised as a whole, as an object file for a CPU."""
    module = llvm.parse_bitcode(bitcode)
    machine = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = True, False  # slp makes 3-vectors slower (+20 %)
    builder = llvm.create_pass_builder(machine, tuning)
    for function in module.functions:
        if (
            not function.is_declaration
        ):  # each alone first: the code below is inlined in a simpler form (1 % faster)
            builder.getFunctionPassManager().run(function, builder)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)
