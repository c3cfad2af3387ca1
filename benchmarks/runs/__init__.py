"""The benchmark runs: each module has a `main(argv)` and a name in `benchmarks.__main__`."""
