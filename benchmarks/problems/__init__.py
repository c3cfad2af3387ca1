"""Mechanisms with known answers, one file each; `problem` says what such a file holds."""

from .problem import Comparison, Expected, Problem, Reference, compare, load, problem_of, problems, references

__all__ = [
    "Comparison",
    "Expected",
    "Problem",
    "Reference",
    "compare",
    "load",
    "problem_of",
    "problems",
    "references",
]
