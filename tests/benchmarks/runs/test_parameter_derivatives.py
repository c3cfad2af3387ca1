"""The benchmark of derivatives by parameters: it runs, and both ways agree."""

import pytest
from numba import config

from treemech.benchmarks.runs import parameter_derivatives
from treemech.description.parameters import directions
from treemech.dynamics.analyses.dual_model import DualModel

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="compares compiled code")


@pytest.mark.parametrize("closed", [False, True])
def test_exact_derivatives_and_differences_agree(closed):
    mech, state = parameter_derivatives.chain(4, closed)
    found = parameter_derivatives.measure(mech, state, 1)
    assert len(mech.parameters) == 12 and found["error"] < 1e-9
    assert all(isinstance(x, DualModel) for x in directions(mech, mech.parameters))


def test_it_prints_a_line_for_every_model(capsys):
    assert parameter_derivatives.main(["--blocks", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all("exact" in line and "parameters" in line for line in lines)


@pytest.mark.slow
def test_exact_derivatives_take_less_time_than_differences():
    mech, state = parameter_derivatives.chain(10, closed=True)
    found = parameter_derivatives.measure(mech, state, 20)
    assert found["exact"] < 0.3 * found["differences"]
