"""The checks of `python -m benchmarks.gpu_check`."""
