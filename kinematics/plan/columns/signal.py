"""Columns of Plan.signals (functions of time) and Plan.links (signals in the records of elements)."""

# Plan.signals
ADDRESS, PARAMETER = range(2)

# Plan.links
LINK_SIGNAL, LINK_PARAMETER = range(2)
