"""Every adapter has its contract, and asking for the list of them costs nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

from tests.contract.contract import AdapterContract

from gpu_opt_providers.registry import ADAPTERS, WITHOUT_ADAPTER, load_adapter


def test_no_adapter_lacks_a_contract_test() -> None:
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        import_module(f"tests.contract.{path.stem}")
    tested = {contract.provider for contract in AdapterContract.__subclasses__()}
    assert tested == set(ADAPTERS)


def test_every_adapter_loads_under_its_own_name() -> None:
    for name in ADAPTERS:
        assert load_adapter(name, {}).name == name
    assert not set(ADAPTERS) & set(WITHOUT_ADAPTER)


def test_the_registry_and_the_adapters_import_no_sdk() -> None:
    code = (
        "import sys\nfrom gpu_opt_providers.registry import ADAPTERS, load_adapter\n"
        "[load_adapter(name, {}) for name in ADAPTERS]\n"
        "print([name for name in ('boto3', 'botocore', 'google.auth', 'pandas', 'numpy') if name in sys.modules])"
    )
    paths = [str(Path(__file__).parents[2] / root) for root in ("optimizer", "providers", "pricing_cache")]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
