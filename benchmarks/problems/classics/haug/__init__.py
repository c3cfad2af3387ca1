"""Mechanisms of Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems, volume I (1989)."""
