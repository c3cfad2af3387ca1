"""Pendulums, tops, chains and rolling bodies of the textbooks."""
