"""What is assumed for a user who left it out: the stack, the global batch, and the note that says so."""

from __future__ import annotations

import math

from gpu_opt.domain.hardware import Accelerator
from gpu_opt.domain.model import ModelSpec
from gpu_opt.throughput.training.constants import StackInfo, find_stack, is_fitted, stacks

# Tokens a step by billions of parameters: what published recipes of that size use (Llama 2 and 3, OLMo, GPT-3).
_PRETRAIN_BATCH_TOKENS = ((0.7, 0.5e6), (2.0, 1e6), (5.0, 2e6), (100.0, 4e6), (float("inf"), 16e6))
_USUAL_RUN_TOKENS = 2e12  # beyond it the useful batch grows with about the square root of the tokens
_FULL_BATCH_TOKENS = 0.5e6
_ADAPTER_BATCH_TOKENS = 65536.0
_VENDOR_STACKS = {
    "AMD": "rocm-megatron",
    "Google": "maxtext",
    "Intel": "optimum-habana",
    "AWS": "neuronx",
}


def default_stack(accelerator: Accelerator, *, kind: str, method: str) -> StackInfo:
    """A sensible stack for the kind of job on that vendor's part."""
    adapter = method in ("lora", "qlora")
    if accelerator.vendor in _VENDOR_STACKS and not (adapter and accelerator.vendor == "AMD"):
        return stacks()[_VENDOR_STACKS[accelerator.vendor]]
    if adapter:
        return stacks()["hf-peft"]
    return stacks()["megatron-bridge" if kind == "pretrain" else "fsdp"]


def resolve_stack(
    named: str, accelerator: Accelerator, *, kind: str, method: str
) -> tuple[StackInfo, bool, tuple[str, ...]]:
    """(stack, whether its constants are its own, notes) for a stack that a user named or left out."""
    if named:
        found = find_stack(named)
        if found is not None:
            return found, True, _unfitted(found)
        chosen = default_stack(accelerator, kind=kind, method=method)
        return chosen, False, (f"stack {named!r} is not known: constants of {chosen.name}, with a wider interval",)
    chosen = default_stack(accelerator, kind=kind, method=method)
    return chosen, True, (f"stack {chosen.name} assumed", *_unfitted(chosen))


def _unfitted(stack: StackInfo) -> tuple[str, ...]:
    if is_fitted(stack.name):
        return ()
    return (f"no runs of {stack.name} were fitted: constants of its relatives, with a wider interval",)


def default_batch_tokens(model: ModelSpec, *, kind: str, method: str, tokens: float = 0.0) -> float:
    """Tokens of a step for a job that doesn't say; longer pretraining runs (of `tokens`) take larger steps."""
    if method in ("lora", "qlora"):
        return _ADAPTER_BATCH_TOKENS
    if kind != "pretrain":
        return _FULL_BATCH_TOKENS
    billions = model.params / 1e9
    usual = next(size for limit, size in _PRETRAIN_BATCH_TOKENS if billions <= limit)
    return usual * math.sqrt(max(1.0, tokens / _USUAL_RUN_TOKENS))
