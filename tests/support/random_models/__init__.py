"""Random mechanisms of every kind from a short recipe, and the laws they must keep."""
