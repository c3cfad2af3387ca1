"""Formulations in planar Cartesian coordinates."""
