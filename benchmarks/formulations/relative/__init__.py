"""Formulations in relative coordinates, those of the engine."""
