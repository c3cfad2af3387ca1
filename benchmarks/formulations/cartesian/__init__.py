"""Formulations in Cartesian coordinates with Euler parameters."""
