"""Serving: memory, speed and latency of language models under load, and the replicas that meet a service's targets."""

from gpu_opt.throughput.serving.options import batch_options, service_options

__all__ = ["batch_options", "service_options"]
