"""Derivatives by complex steps: the kernels as plain Python, on complex numbers, in a process of their own."""
