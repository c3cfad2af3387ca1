"""Kinematics of a tree structure and its chords (ch. 5): the Plan, and the compiled sweeps over it."""
