"""Signals: given functions of time. Their contract is elements/signal.py."""
