"""`python -m gpu_opt.cli` is `gpu-opt`."""

from gpu_opt.cli.main import run

run()
