"""Constraint elements: equations on the relative motion of two ends."""
