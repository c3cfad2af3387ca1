"""Machines with governors, cams, pumps and other elements of force."""
