"""Which providers have an adapter; a module is imported only when its provider is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from gpu_opt_providers.base import Adapter
from gpu_opt_providers.transport import Http

ADAPTERS: Mapping[str, str] = {
    "aws": "gpu_opt_providers.aws:Aws",
    "azure": "gpu_opt_providers.azure:Azure",
    "gcp": "gpu_opt_providers.gcp:Gcp",
    "lambda": "gpu_opt_providers.lambda_cloud:LambdaCloud",
    "oci": "gpu_opt_providers.oci:Oci",
    "runpod": "gpu_opt_providers.runpod:RunPod",
    "vast": "gpu_opt_providers.vast:Vast",
}

WITHOUT_ADAPTER: Mapping[str, str] = {
    "coreweave": "it has no price interface",
    "crusoe": "its interface tells types and capacity, no prices",
    "nebius": "its price service is not supported yet",
    "verda": "its interface is not supported yet",
}
"""Known providers that can't be refreshed, and why; their prices come from the snapshot, an import or an overlay."""


def load_adapter(name: str, environment: Mapping[str, str], http: Http | None = None) -> Adapter:
    """The adapter of a provider; KeyError for one without."""
    module, _, attribute = ADAPTERS[name].partition(":")
    adapter: type[Adapter] = getattr(import_module(module), attribute)
    return adapter(environment, http or Http())
