"""The core for other machines: lowered code becomes object files and libraries there; under an emulator it gives the same numbers."""

import os
import shutil
import subprocess
import zlib

import numpy as np
import pytest

import treemech as tm
from treemech.dynamics.native import build, linking
from treemech.dynamics.native.cross import MACHINES, cross_build, emitted
from treemech.dynamics.native.pieces import pieces
from treemech.elements.element import record

SIGNAL = tm.Harmonic(0.7, 2.3, 0.4, 0.1)
PROGRAM = """
#include <stdio.h>
int treemech_element_Harmonic(double *a, double *b, double t, double *parameters, double *out);
int main(void)
{
    double parameters[] = {%s}, a[1] = {0}, b[1] = {0};
    for (int k = 0; k < 5; k++) {
        double out[3] = {0};
        if (treemech_element_Harmonic(a, b, 0.3 * k, parameters, out) != 1)
            return 1;
        printf("%%.17g %%.17g %%.17g\\n", out[0], out[1], out[2]);
    }
    return 0;
}
"""
MAGIC = {"aarch64-linux-gnu": b"\x7fELF\x02\x01\x01\x00", "x86_64-w64-mingw32": b"\x64\x86"}


def here(name):
    if shutil.which(MACHINES[name].compiler) is None:
        pytest.skip(f"{MACHINES[name].compiler} is not installed")


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    """File of the lowered code of one element, from the cache or compiled now."""
    if build.obstacle():
        pytest.skip(build.obstacle())
    folder = tmp_path_factory.mktemp("lowered")
    (piece,) = [p for p in pieces("core") if "element_Harmonic" in p.elements]
    build.compile_pieces([piece], ("base",), folder, print, {})
    found = folder / f"{piece.key}.bc"
    return found if found.exists() else build.kept_folder() / found.name


def test_linkers_of_windows_are_told_what_to_export(tmp_path):
    assert linking.definitions(["rhs"]) == "EXPORTS\n    treemech_cpu_v3\n    treemech_rhs\n"
    for machine, wanted in (
        ("x86_64-pc-windows-msvc", "-Wl,-def:"),
        ("x86_64-w64-mingw32", "-static-libgcc"),
    ):
        answers = tmp_path / machine
        answers.write_text(f"#!/bin/sh\necho {machine}\n")
        answers.chmod(0o755)
        options = linking.windows_options([str(answers)], tmp_path / "core.def")
        assert any(option.startswith(wanted) for option in options)
        assert any(str(tmp_path / "core.def") in option for option in options)


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_object_files_are_those_of_the_machine(name, lowered, tmp_path):
    code = emitted(zlib.decompress(lowered.read_bytes()), MACHINES[name])
    assert code.startswith(MAGIC[name]) and b"treemech_element_Harmonic" in code


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_a_library_links_with_nothing_left_undefined(name, lowered, tmp_path):
    here(name)
    out = cross_build(name, [lowered], tmp_path, exported=["element_Harmonic"])
    assert out.suffix == MACHINES[name].suffix and b"treemech_element_Harmonic" in out.read_bytes()


@pytest.mark.slow
def test_an_emulated_aarch64_gives_the_same_numbers(lowered, tmp_path):
    here("aarch64-linux-gnu")
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if emulator is None:
        pytest.skip("qemu-aarch64 is not installed")
    source = tmp_path / "main.c"
    source.write_text(PROGRAM % ", ".join(repr(float(x)) for x in record(SIGNAL)[0]))
    program = cross_build("aarch64-linux-gnu", [lowered], tmp_path, source)
    done = subprocess.run([emulator, program], capture_output=True, text=True, check=True)
    found = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    np.testing.assert_allclose(found, [SIGNAL.at(0.3 * k) for k in range(5)], rtol=1e-14, atol=1e-15)


OPENED = """
#include <stdio.h>
#include <windows.h>
typedef int (*Element)(double *, double *, double, double *, double *);
int main(int n, char **given)
{
    HMODULE library = LoadLibraryA(given[1]);
    if (!library)
        return 2;
    Element element = (Element)(void *)GetProcAddress(library, "treemech_element_Harmonic");
    int (*v3)(void) = (int (*)(void))(void *)GetProcAddress(library, "treemech_cpu_v3");
    if (!element || !v3 || GetProcAddress(library, "numba_nextafter"))
        return 3;
    double parameters[] = {%s}, a[1] = {0}, b[1] = {0};
    printf("%%d\\n", v3());
    for (int k = 0; k < 5; k++) {
        double out[3] = {0};
        if (element(a, b, 0.3 * k, parameters, out) != 1)
            return 1;
        printf("%%.17g %%.17g %%.17g\\n", out[0], out[1], out[2]);
    }
    return 0;
}
"""


@pytest.mark.slow
def test_a_dll_is_opened_by_windows_and_gives_the_same_numbers(lowered, tmp_path, monkeypatch):
    """Linked as the build does it on Windows, opened as ctypes does it there: no other library is needed."""
    name = "x86_64-w64-mingw32"
    here(name)
    emulator = shutil.which("wine64") or shutil.which("wine") or shutil.which("wine64", path="/usr/lib/wine")
    if emulator is None:
        pytest.skip("wine is not installed")
    piece, dll = tmp_path / "piece.o", tmp_path / "core-base.dll"
    piece.write_bytes(emitted(zlib.decompress(lowered.read_bytes()), MACHINES[name]))
    monkeypatch.setattr(linking, "_WINDOWS", True)
    monkeypatch.setenv("CC", MACHINES[name].compiler)
    linking.link([piece], dll, ["element_Harmonic"])
    source, program = tmp_path / "main.c", tmp_path / "main.exe"
    source.write_text(OPENED % ", ".join(repr(float(x)) for x in record(SIGNAL)[0]))
    subprocess.run([MACHINES[name].compiler, "-O1", source, "-o", program], check=True)
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "DISPLAY": ""}
    done = subprocess.run(
        [emulator, program, dll.name], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    v3, *lines = done.stdout.splitlines()
    assert bool(int(v3)) == bool(
        build.library.open_library() and build.library.open_library().treemech_cpu_v3()
    )
    found = np.array([line.split() for line in lines], dtype=float)
    np.testing.assert_allclose(found, [SIGNAL.at(0.3 * k) for k in range(5)], rtol=1e-14, atol=1e-15)
