"""T4: what ranks send each other, over the link that each group really has, and how much of it stays visible."""

from __future__ import annotations

import numpy as np

from gpu_opt.throughput.training.arrays import Array, Runs

_HALF_BYTES = 2.0
_LOW_DISPATCH_SHARE = 0.75  # tokens go out in 8 bits and come back in 16


def exposed(wire: Array, compute: Array, overlap: Array) -> Array:
    """Seconds of communication that computation doesn't hide, when a share `overlap` of either can."""
    return np.asarray(np.maximum(wire * (1.0 - overlap), wire - overlap * compute))


def _local_rate(runs: Runs) -> Array:
    return np.asarray(runs.device.scaleup_bytes_per_second * runs.stack.scaleup_share)


def _network_rate(runs: Runs) -> Array:
    return np.asarray(runs.device.network_bytes_per_second * runs.stack.network_share)


def _group_rate(runs: Runs, span: Array, size: Array) -> Array:
    """Bytes per second and rank of a group of `size` ranks spread over `span` neighbouring ranks.

    Inside the scale-up domain that is the domain's link. Beyond it, rings share the network ports of the ranks that
    the group has on a node (all of them when `rails` is 1, one when it is 0), and lose a share of their rate with
    every doubling of the domains they cross.
    """
    domain = runs.device.scaleup_domain
    stride = span / size
    ranks_on_node = np.clip(domain / stride, 1.0, size)
    crossed = 1.0 + runs.stack.network_decay * np.log2(np.maximum(span / domain, 1.0))
    beyond = np.minimum(_local_rate(runs), _network_rate(runs) * ranks_on_node**runs.stack.rails / crossed)
    return np.asarray(np.where(span <= domain, _local_rate(runs), beyond))


def tensor_seconds(runs: Runs, tokens: Array) -> Array:
    """Visible seconds per layer and microbatch of tensor-parallel collectives, sequence-parallel or not."""
    spread, dims, stack = runs.spread, runs.dims, runs.stack
    tp = spread.tp
    collectives = 4.0 + 2.0 * (spread.recompute >= 2)
    bytes_each = 2.0 * (tp - 1.0) / tp * tokens * dims.hidden * _HALF_BYTES
    rate = np.where(tp <= runs.device.scaleup_domain, _local_rate(runs), _network_rate(runs))
    wire = collectives * (bytes_each / rate + 2.0 * stack.hop_seconds * np.log2(np.maximum(tp, 1.0)))
    return np.asarray(wire * (1.0 - stack.tp_overlap))


def context_seconds(runs: Runs, tokens: Array, attention_both: Array) -> Array:
    """Visible seconds per layer and microbatch of passing keys and values around a context-parallel ring."""
    spread = runs.spread
    rate = _group_rate(runs, spread.tp * spread.cp, spread.cp)
    wire = 3.0 * (spread.cp - 1.0) * tokens * runs.dims.kv_width * _HALF_BYTES / (spread.tp * rate)
    return exposed(np.asarray(wire), attention_both, runs.stack.cp_overlap)


def expert_seconds(runs: Runs, tokens: Array) -> Array:
    """Seconds per average layer and microbatch of sending tokens to their experts and back, both passes.

    Beyond the scale-up domain a token goes once to each domain that holds one of its experts.
    """
    spread, dims = runs.spread, runs.dims
    ep = spread.ep
    width = np.where(runs.task.linear_bits < 16.0, _LOW_DISPATCH_SHARE, 1.0)
    each_way = 4.0 * tokens * dims.hidden * _HALF_BYTES * width / spread.tp
    span = np.minimum(ep * spread.tp, np.maximum(spread.gpus / spread.pp, 1.0))
    domains = np.maximum(span / runs.device.scaleup_domain, 1.0)
    visited = (domains - 1.0) * (1.0 - (1.0 - 1.0 / domains) ** dims.experts_per_token)
    inside = dims.experts_per_token * (1.0 - 1.0 / ep)
    wire = each_way * (inside / _local_rate(runs) + visited / _network_rate(runs))
    wire = wire * (1.0 - runs.stack.ep_overlap) + 4.0 * runs.stack.hop_seconds * np.log2(np.maximum(ep, 1.0))
    return np.asarray(wire * dims.moe_layers / dims.layers)


def pipeline_seconds(runs: Runs, tokens: Array) -> Array:
    """Seconds per microbatch and boundary of handing activations on and their gradients back."""
    spread = runs.spread
    sent = 2.0 * tokens * runs.dims.hidden * _HALF_BYTES / spread.tp * spread.virtual_stages
    inside = spread.gpus <= runs.device.scaleup_domain
    rate = np.where(inside, _local_rate(runs), _network_rate(runs))
    hand_over = sent / rate + runs.stack.pp_launch_seconds * spread.virtual_stages
    return np.asarray(np.where(spread.pp > 1, hand_over, 0.0))


def data_seconds(runs: Runs, local_params: Array, backward: Array) -> Array:
    """Visible seconds per step of reducing gradients, and of gathering weights that ZeRO-1 and 2 updated in shards.

    `local_params` are those of one rank before sharding, `backward` the seconds of the last microbatch's backward.
    """
    spread, stack = runs.spread, runs.stack
    group = spread.dp * spread.cp
    rate = _group_rate(runs, spread.tp * group, group)
    moved = (group - 1.0) / group * local_params
    sharded = (spread.zero >= 1) & (spread.shard >= group)
    reduce = moved * stack.gradient_bytes * np.where(sharded, 1.0, 2.0) / rate
    shard_rate = _group_rate(runs, spread.tp * spread.shard, spread.shard)
    gather = (spread.shard - 1.0) / spread.shard * local_params * _HALF_BYTES / shard_rate
    hops = np.log2(np.maximum(group, 1.0)) * stack.hop_seconds * runs.dims.layers / spread.pp
    visible = exposed(reduce + hops, backward, stack.dp_overlap)
    gather = np.where(spread.zero >= 1, (gather + hops) * (1.0 - stack.gather_overlap), 0.0)
    return np.asarray(np.where(spread.zero >= 2, 0.0, visible + gather))


def shard_seconds(runs: Runs, layer_params: Array, compute: Array) -> Array:
    """Visible seconds per layer and microbatch of gathering weights and scattering gradients (ZeRO-2 and 3, FSDP)."""
    spread, stack = runs.spread, runs.stack
    shard = spread.shard
    rate = _group_rate(runs, spread.tp * shard, shard)
    passes = np.where(spread.zero >= 3, 3.0, 2.0)
    moved = (shard - 1.0) / shard * layer_params * _HALF_BYTES
    wire = passes * (moved / rate + stack.hop_seconds * shard / 8.0)
    seconds = exposed(np.asarray(wire), compute, stack.fsdp_overlap)
    return np.asarray(np.where((spread.zero >= 2) & (shard > 1), seconds, 0.0))
