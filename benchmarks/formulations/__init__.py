"""Formulations of the equations of motion side by side; `formulation` says what one is."""

from .formulation import (
    Bodies,
    Formulation,
    Inexpressible,
    Integration,
    Solution,
    TooSlow,
    conservative,
    formulations,
    unique_reactions,
)

__all__ = [
    "Bodies",
    "Formulation",
    "Inexpressible",
    "Integration",
    "Solution",
    "TooSlow",
    "conservative",
    "formulations",
    "unique_reactions",
]
