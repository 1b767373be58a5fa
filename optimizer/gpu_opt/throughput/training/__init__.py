"""Training speed: the time of a step by its parts, the layout search, and the options a planner chooses from."""

from gpu_opt.throughput.training.options import job_options

__all__ = ["job_options"]
