"""Coupling elements: equations between coordinates of different hinges."""
