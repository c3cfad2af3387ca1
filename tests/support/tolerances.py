"""Tolerances by name, with their reason."""

ROUND = 1e-12  # two routes to one number, relative to the largest term
DIFF = 1e-7  # central differences, step 1e-6
PEER = 1e-9  # another library, relative to the largest entry
