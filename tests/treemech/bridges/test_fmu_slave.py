"""FMUs in fmpy: valid, and their motion is that of `simulate` (needs pythonfmu3, fmpy: make test-extras)."""

import numpy as np
import pytest

from tests.support.arrays_of_state import driven_arm
from tests.treemech.bridges.test_fmu_model import arm, four_bar, reference

fmpy = pytest.importorskip("fmpy")
pytest.importorskip("pythonfmu3")
pytestmark = pytest.mark.extras


def end_of(path, kind, changed, **options):
    """Return the result of fmpy at 0.5 s, the torque 2 held."""
    signals = np.array([(0.0, 2.0), (1.0, 2.0)], dtype=[("time", float), ("torque", float)])
    return fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=0.5, output_interval=0.1, step_size=0.1, relative_tolerance=1e-9,
        start_values=changed, input=signals, **options,
    )  # fmt: skip


@pytest.mark.parametrize("case", [arm, four_bar])
@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_an_fmu_runs_in_fmpy_and_equals_the_simulation(case, kind, tmp_path):
    mech, start, independent, changed = case()
    path = mech.to_fmu(tmp_path / "model.fmu", start, independent=independent, rtol=1e-9)
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(path)) == []
    found = end_of(path, kind, changed)
    other, wanted = reference(case)
    names = [n for n in found.dtype.names if n.split("[")[0].endswith(".q")]
    assert len(names) == mech.nq and found["time"][-1] == 0.5
    assert np.allclose([found[n][-1] for n in names], wanted.q, rtol=0, atol=1e-6)
    for name in mech._wiring.measures:
        there = other.simulate((0.5, 0.6), wanted, t_eval=[0.5]).measure(name)[0]
        assert abs(found[name][-1] - there) < 1e-6


def test_one_kind_and_fewer_variables(tmp_path):
    mech = driven_arm().build()
    path = mech.to_fmu(tmp_path / "2 arms.fmu", inputs=(), parameters=("k",), kinds=("co-simulation",))
    description = fmpy.read_model_description(str(path))
    assert description.modelExchange is None and description.coSimulation.modelIdentifier == "model_2_arms"
    names = {v.name for v in description.modelVariables}
    assert "torque" not in names and "m" not in names and {"k", "B.q", "B.u", "relaxing.x[0]"} <= names
    found = fmpy.simulate_fmu(str(path), stop_time=0.3, output_interval=0.1)
    run = mech.simulate((0, 0.3), t_eval=[0.3], rtol=1e-10)
    assert abs(found["B.q"][-1] - run.connection("B").q[-1]) < 1e-6
