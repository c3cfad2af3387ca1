"""Linkages: closed chains of bars, cranks and sliders."""
