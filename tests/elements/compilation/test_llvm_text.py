"""Many texts of LLVM code become one: each definition once, private names apart, no counting of references."""

from treemech.elements.compilation.llvm_text import Definitions

CALLER = """
target triple = "x86_64-unknown-linux-gnu"
declare i32 @"shared"(i32)
declare void @NRT_incref(ptr)
@".const" = internal constant [2 x i8] c"a\\00"
define i32 @"f"(i32 %"x") {
entry:
  call void @NRT_incref(ptr @".const")
  %"y" = call i32 @"shared"(i32 %"x"), !prof !0
  ret i32 %"y"
}
!0 = !{i32 1}
"""
SHARED = """
target triple = "x86_64-unknown-linux-gnu"
@".const" = internal constant [2 x i8] c"b\\00"
define i32 @"shared"(i32 %"x") {
entry:
  %"y" = load i8, ptr @".const", !range !0
  ret i32 %"x"
}
define i32 @"unused"() {
entry:
  ret i32 0
}
!0 = !{i32 2}
"""


def together(*texts):
    definitions = Definitions()
    for text in texts:
        definitions.add(text)
    return definitions.module(["f"])


def test_what_is_needed_is_there_once_and_nothing_else():
    code = together(CALLER, SHARED, SHARED)
    assert code.count('define i32 @"f"') == code.count('define i32 @"shared"') == 1
    assert "unused" not in code and "declare" not in code
    assert code.count("target triple") == 1


def test_private_names_of_two_texts_stay_apart():
    code = together(CALLER, SHARED)
    constants = [line for line in code.splitlines() if line.startswith("@")]
    assert len(constants) == 2 and len({line.split(" = ")[0] for line in constants}) == 2


def test_metadata_keep_their_meaning():
    lines = together(CALLER, SHARED).splitlines()
    meaning = dict(line.split(" = ") for line in lines if line.startswith("!"))
    called = next(line for line in lines if "!prof" in line).split()[-1]
    loaded = next(line for line in lines if "!range" in line).split()[-1]
    assert (meaning[called], meaning[loaded]) == ("!{i32 1}", "!{i32 2}")


def test_nothing_counts_references():
    code = together(CALLER, SHARED)
    assert "define internal void @NRT_incref(ptr %counted) alwaysinline {\n  ret void\n}" in code


def test_what_nobody_defines_stays_declared():
    code = together(CALLER)
    assert 'declare i32 @"shared"(i32)' in code
