"""Sources, hash, cache folder and shared library of the compiled core."""
