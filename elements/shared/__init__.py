"""Functions that several elements share: lines, finite rotations, linear laws, tables and splines."""
