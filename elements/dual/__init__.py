"""Dual numbers and jets, which carry derivatives through compiled code, and functions of them."""
