"""Memory of training by line, on the fullest pipeline rank, and whether it fits."""

from gpu_opt.throughput.memory_training.lines import LINES, Memory, memory
from gpu_opt.throughput.memory_training.rules import Rules, is_known_optimizer, rules_of
from gpu_opt.throughput.memory_training.verdict import fit_confidence, verdict

__all__ = ["LINES", "Memory", "Rules", "fit_confidence", "is_known_optimizer", "memory", "rules_of", "verdict"]
