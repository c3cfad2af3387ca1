"""Compilation of the methods of an element to functions that the compiled core can call."""
