"""Checks of elements against their contracts (tm.check)."""
