"""`gpu-opt doctor`: what is installed, whether the solver solves, where the cache is, how old the prices are."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from gpu_opt import __version__
from gpu_opt.cli._common import clean_line, colour, silent_stdout, write_json
from gpu_opt.cli._offers import cache_dir
from gpu_opt.errors import GpuOptError
from gpu_opt.records import record

_LIBRARIES = ("typer", "pydantic", "PyYAML", "numpy", "pulp")
_EXTRAS = {
    "aws": ("boto3",),
    "gcp": ("google-cloud-compute", "google-cloud-billing"),
    "reports": ("pandas",),
}


@record
class Finding:
    """One line of the report. `state` is ok, absent (an option that is not installed) or broken."""

    name: str
    state: str
    detail: str


def command(
    output: Annotated[Literal["table", "json"], typer.Option("--format", help="How to print the report.")] = "table",
) -> None:
    """Check the installation: versions, the solver, the cache, the prices and the optional extras.

    Exits 5 when something that planning needs is broken.
    """
    findings = [_python(), *map(_library, _LIBRARIES), _solver(), _cache(), _prices(), *_extras()]
    if output == "json":
        write_json({"schema": "gpu-opt/doctor/1", "findings": [asdict(finding) for finding in findings]})
    else:
        _print_table(findings)
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(5)


def _print_table(findings: list[Finding]) -> None:
    width = max(len(finding.name) for finding in findings)
    styles = {"ok": "green", "absent": "dim", "broken": "red"}
    for finding in findings:
        state = colour(f"{finding.state:<6}", styles[finding.state], sys.stdout)
        typer.echo(f"{finding.name:<{width}}  {state}  {clean_line(finding.detail)}")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(name="gpu-opt", state="ok", detail=f"{__version__} on Python {version}, {sys.executable}")


def _version(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _library(distribution: str) -> Finding:
    found = _version(distribution)
    if found is None:
        return Finding(name=distribution, state="broken", detail="not installed: pip install gpu-opt")
    return Finding(name=distribution, state="ok", detail=found)


def _solver() -> Finding:
    """Solves: at most 4 of something worth 1 each; the optimum is 4."""
    try:
        import highspy

        with silent_stdout():
            solver: Any = highspy.Highs  # its constructor has no types
            solver = solver()
            solver.silent()
            solver.maximize(solver.addIntegral(lb=0, ub=4))
            optimum = solver.getInfo().objective_function_value
    except Exception as error:
        return Finding(name="HiGHS", state="broken", detail=f"{type(error).__name__}: {error}")
    if optimum != 4:
        return Finding(name="HiGHS", state="broken", detail=f"{_version('highspy')} answered {optimum:g} for 4")
    return Finding(name="HiGHS", state="ok", detail=f"{_version('highspy')}, solves")


def _cache() -> Finding:
    folder = cache_dir()
    if folder.is_dir():
        writable = os.access(folder, os.W_OK | os.X_OK)
        detail = str(folder) if writable else f"{folder} is read-only: set GPU_OPT_CACHE to another folder"
        return Finding(name="cache", state="ok" if writable else "broken", detail=detail)
    if folder.exists():
        return Finding(name="cache", state="broken", detail=f"{folder} is not a folder: set GPU_OPT_CACHE to one")
    return Finding(name="cache", state="ok", detail=f"{folder}, made when first needed")


def _prices() -> Finding:
    try:
        from gpu_opt_prices.effective import default_offers

        offers = default_offers(cache_dir()).offers
    except (GpuOptError, OSError) as error:
        return Finding(name="prices", state="broken", detail=str(error))
    if not offers:
        return Finding(name="prices", state="broken", detail="no offers: gpu-opt prices refresh")
    newest = max(offer.as_of for offer in offers)
    providers = len({offer.provider for offer in offers})
    days = (datetime.now(UTC).date() - newest).days
    age = "1 day old" if days == 1 else f"{days} days old"
    return Finding(
        name="prices",
        state="ok",
        detail=f"{len(offers):,} offers of {providers} providers, the newest of {newest}, {age}",
    )


def _extras() -> list[Finding]:
    findings = []
    for extra, distributions in _EXTRAS.items():
        versions = {name: _version(name) for name in distributions}
        if all(versions.values()):
            detail = ", ".join(f"{name} {found}" for name, found in versions.items())
            findings.append(Finding(name=f"[{extra}]", state="ok", detail=detail))
        else:
            remedy = f"not installed: pip install 'gpu-opt[{extra}]'"
            findings.append(Finding(name=f"[{extra}]", state="absent", detail=remedy))
    return findings
