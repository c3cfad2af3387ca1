"""Manipulators, walking machines and other driven chains."""
