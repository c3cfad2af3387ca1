"""Columns of the flat arrays, one namespace per noun: ``W[i, body.OMEGA]``, ``efforts[k, effort.N_ENDS]``."""
