"""Benchmarks: scalable model families, the same models in peer libraries, and runs that compare them.

``python -m treemech.benchmarks`` lists the runs; times are CPU times and compare only within one machine.
"""
