"""Laws on random mechanisms: hypothesis chooses what they are made of (tests.support.random_models)."""

import re
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.configuration import set_hypothesis_home_dir

import treemech as tm
from tests.support.random_models.blueprint import Blueprint, Unfit
from tests.support.random_models.campaign import BAD, campaign
from tests.support.random_models.found import FOUND
from tests.support.random_models.laws import LAWS
from tests.support.random_models.outcomes import Stopped
from tests.support.random_models.recipe import recipes

# What may be refused, or may end a run: each of these is true of the mechanism that is named
REFUSALS = (
    "is to be cut, as an element depends on its load",
    "the position is singular",
    "the motion cannot be followed beyond",
    "no position near it is closed",
    "under-actuated",
    "do not fit together",
    "the chain is open by",
    "is cut, but the others leave it open",
    "hinges that must all be branches form a closed chain",
    "enters the (cylinder|sphere)",
    "no longer than the muscle is thick",
)
# Failures are made small by `campaign.smallest`, which knows what may be left out: hypothesis need not try
QUICK = settings(
    max_examples=17, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)  # fmt: skip
set_hypothesis_home_dir(
    Path(tempfile.gettempdir()) / "treemech-hypothesis"
)  # nothing is left in the checkout


def hold(law, recipe):
    """Assert a law; what is refused or stopped is told with a known reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            LAWS[law](Blueprint(recipe))
    except Unfit:
        pass
    except (Stopped, tm.TreemechError) as error:
        assert any(re.search(words, str(error)) for words in REFUSALS), f"{recipe}: {error}"


@pytest.mark.parametrize("law", LAWS)
def test_random_mechanisms_keep_the_law(law):
    @QUICK
    @given(recipes())
    def keeps(recipe):
        hold(law, recipe)

    keeps()


@pytest.mark.parametrize("found", FOUND, ids=lambda found: f"{found.law} {found.recipe.seed}")
def test_what_was_found_once_holds(found, request):
    if found.open:
        request.applymarker(pytest.mark.xfail(reason=found.open))
    hold(found.law, found.recipe)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(100))
def test_ten_thousand_mechanisms_are_never_silently_wrong(batch):
    """All laws on 100 mechanisms: none wrong, none crashes, none hangs."""
    results = campaign(seed=1, count=100, first=100 * batch, report=lambda *_: None)
    bad = {number: [f for f in found if f[0] in BAD] for number, found in results.items()}
    assert not {number: found for number, found in bad.items() if found}
