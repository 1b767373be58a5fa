"""gpu-opt: which GPUs, where, rented how or bought, and what it will cost."""

__version__ = "0.1.0"
