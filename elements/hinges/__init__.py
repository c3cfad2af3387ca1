"""Hinge elements: the relative motion of two ends, one hinge per file."""
