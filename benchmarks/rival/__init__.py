"""The pages of benchmarks/rivals.py: loops, tuners, grid, judge and verdict."""
