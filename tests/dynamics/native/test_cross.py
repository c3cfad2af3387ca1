"""The core for other machines: lowered code becomes object files and libraries there; under an emulator it gives the same numbers."""

import shutil
import subprocess

import numpy as np
import pytest

import treemech as tm
from treemech.dynamics.native import build
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


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_object_files_are_those_of_the_machine(name, lowered, tmp_path):
    import zlib

    code = emitted(zlib.decompress(lowered.read_bytes()), MACHINES[name])
    assert code.startswith(MAGIC[name]) and b"treemech_element_Harmonic" in code


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_a_library_links_with_nothing_left_undefined(name, lowered, tmp_path):
    here(name)
    out = cross_build(name, [lowered], tmp_path)
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
