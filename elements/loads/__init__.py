"""External loads: drag, and forces and moments given as Python functions."""
