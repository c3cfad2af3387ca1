"""The systems of Sol's thesis (1983) beside its fuel injection pump."""
