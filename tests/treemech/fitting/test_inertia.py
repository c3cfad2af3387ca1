"""The log-Cholesky map: every theta is a body that can exist, and every such body has a theta."""

import numpy as np
import pytest

import treemech as tm
from treemech.fitting.inertia import about_origin, from_theta, inertial_parameters, pseudo_inertia, to_theta


def test_any_theta_is_physical_and_comes_back():
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta = rng.normal(size=10)
        numbers, slopes = from_theta(theta)
        assert np.linalg.eigvalsh(pseudo_inertia(numbers))[0] > 0.0
        np.testing.assert_allclose(to_theta(numbers), theta, atol=1e-7)
        for k in range(10):
            h = 1e-6 * np.eye(10)[k]
            want = (from_theta(theta + h)[0] - from_theta(theta - h)[0]) / 2e-6
            np.testing.assert_allclose(slopes[:, k], want, atol=1e-7 * np.max(np.abs(slopes)))


def test_a_body_of_ten_parameters_is_the_body_itself():
    J = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])
    given = {"mass": 2.0, "inertia": J, "com": (0.1, -0.2, 0.3)}
    system = tm.System("one")
    body = system.body("my link", **inertial_parameters("my link", **given))
    np.testing.assert_allclose(body.inertia, J, atol=1e-14)
    np.testing.assert_allclose(body.com, given["com"], atol=1e-15)
    assert body.mass == 2.0 and "my_link_Jxy" in system.parameters
    numbers = about_origin("my link", **given)
    assert numbers[4] == pytest.approx(0.3 + 2.0 * (0.2**2 + 0.3**2))


def test_a_body_that_cannot_exist_is_refused():
    with pytest.raises(tm.ElementError, match="no mass distribution"):
        to_theta(np.array([1.0, 0, 0, 0, 1.0, 1.0, 3.0, 0, 0, 0]))
    with pytest.raises(tm.ElementError, match="no mass"):
        inertial_parameters("nothing", 0.0, (0, 0, 0))
