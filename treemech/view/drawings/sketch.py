"""The drawing of a model: all marks, made once and kept with a run, so that a run from a file is drawn as well."""

import warnings
from typing import TYPE_CHECKING

from treemech.topology import TreemechError

from .bodies import body_marks
from .elements import element_marks
from .hinges import hinge_marks
from .marks import Mark, without_functions
from .model import Model

if TYPE_CHECKING:
    from ...results.run import Run


def sketch(run: "Run") -> tuple[Model, list[Mark]]:
    """Return the model of a run and its marks: those that were kept, or new ones."""
    model = Model(run)
    if run._drawing is not None and model.core is None:
        return model, list(run._drawing)
    elements = element_marks(model)
    return model, [*body_marks(model, elements), *hinge_marks(model), *elements]


def kept_sketch(run: "Run") -> list[Mark] | None:
    """Return the marks of a run as data for a file, None if there are none.

    A drawing of a user's own that fails must not keep results from being saved: it is left out with a warning.
    """
    if run._core is None or not len(run.t):
        return run._drawing
    try:
        return without_functions(sketch(run)[1])
    except TreemechError as error:
        warnings.warn(f"the run is saved without its drawing: {error}", stacklevel=3)
        return None
