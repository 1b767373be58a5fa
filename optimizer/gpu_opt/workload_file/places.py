"""Providers and regions in a file, against the places that are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from gpu_opt.domain.names import folded, nearest
from gpu_opt.errors import Problem
from gpu_opt.hardware.regions import known_places
from gpu_opt.workload_file.yaml_lines import KeyPath, plain, quoted

if TYPE_CHECKING:
    from gpu_opt.workload_file.reader import WorkloadFile

ONPREM = "onprem"
PROVIDER_TYPING_ERROR_RATIO = 0.6  # names of providers are few and short: `gpc` is 0.67 like `gcp`
TYPING_ERROR_RATIO = 0.8  # `us-eats-1` is 0.86 like `us-east-1`; `west` is 0.75 like `east`


class Places:
    """Providers and regions that the file names, against those that prices or the tables know.

    A name close to a known one is a typing error; any other may be a place without prices yet, and is a warning.
    """

    def __init__(self, file: WorkloadFile, known_regions: Mapping[str, frozenset[str]]) -> None:
        self.file = file
        self.priced = known_regions
        self.sites = {site.name for site in (file.onprem.sites if file.onprem else ())}
        self.canonical = {name.casefold(): name for name in (*known_regions, ONPREM)}
        self.problems: list[Problem] = []
        self.warnings: list[str] = []

    def provider(self, name: str) -> str:
        """A provider as prices spell it."""
        return self.canonical.get(name.casefold(), name)

    def provider_of(self, path: KeyPath, region: str, instance_type: str) -> str:
        """The one provider that has a region and an instance type."""
        owners = sorted(name for name, regions in self.priced.items() if region in regions)
        owners = owners or sorted(name for name, regions in region_table().items() if region in regions)
        if len(owners) > 1:
            from gpu_opt.hardware.shapes import shape_table

            having = {provider for provider, name, _ in shape_table() if name.casefold() == instance_type.casefold()}
            owners = [owner for owner in owners if owner in having] or owners
        if len(owners) == 1:
            return owners[0]
        what = f"several providers have a region {quoted(region)}." if owners else f"nobody has {quoted(region)}."
        shown = f"Add `provider`: {', '.join(owners)}." if owners else "Add `provider`, or check the region."
        self.problems.append(self.file.problem(path, what, shown))
        return ""

    def check_all(self) -> None:
        file = self.file
        for index, name in enumerate(file.scope.providers):
            self._check_provider(("scope", "providers", index), name)
        for index, name in enumerate(file.scope.regions):
            self._check_region(("scope", "regions", index), name)
        for position, workload in enumerate(file.workloads):
            for index, name in enumerate(workload.regions):
                self._check_region(("workloads", position, "regions", index), name)
        for key, entries in (("quotas", file.limits.quotas), ("obtainable", file.limits.obtainable)):
            for index, entry in enumerate(entries):
                self._check_provider(("limits", key, index, "provider"), entry.provider)
                self._check_region(("limits", key, index, "region"), entry.region, entry.provider)
        for index, agreement in enumerate(file.agreements):
            self._check_provider(("agreements", index, "provider"), agreement.provider)
        for index, credit in enumerate(file.credits):
            self._check_provider(("credits", index, "provider"), credit.provider)
        for name in file.overheads:
            self._check_provider(("overheads", name), name)
        for index, commitment in enumerate(file.commitments.existing if file.commitments else ()):
            self._check_provider(("commitments", "existing", index, "provider"), commitment.provider)

    def _check_provider(self, path: KeyPath, name: str | None) -> None:
        if name is not None and name.casefold() not in self.canonical and name not in region_table():
            self._unknown(path, "provider", name, {*self.canonical.values(), *region_table()})

    def _check_region(self, path: KeyPath, name: str | None, provider: str | None = None) -> None:
        if name is None:
            return
        owners = [self.provider(provider)] if provider else sorted({*self.priced, *region_table()})
        regions = {*self.sites}.union(*(self.priced.get(owner, frozenset()) for owner in owners))
        regions = regions.union(*(region_table().get(owner, frozenset()) for owner in owners))
        if not any(mark in name for mark in "*?["):
            if name.casefold() not in {region.casefold() for region in regions}:
                self._unknown(path, "region", name, regions)
        elif not any(fnmatchcase(region.casefold(), name.casefold()) for region in regions):
            self.warnings.append(f"{plain(path)}: {quoted(name)} matches no region that prices are known of.")

    def _unknown(self, path: KeyPath, kind: str, name: str, choices: Iterable[str]) -> None:
        from difflib import SequenceMatcher  # only on the way to an error

        close = nearest(name, choices)
        what = f"no prices of a {kind} {quoted(name)} are known."
        least = PROVIDER_TYPING_ERROR_RATIO if kind == "provider" else TYPING_ERROR_RATIO
        if close and SequenceMatcher(None, folded(name), folded(close)).ratio() >= least:
            self.problems.append(self.file.problem(path, what, f"Did you mean {close}?"))
        else:
            self.warnings.append(f"{plain(path)}: {what}")


@cache
def region_table() -> Mapping[str, frozenset[str]]:
    """Regions by provider that the tables know, whether priced or not."""
    found: dict[str, set[str]] = {}
    for provider, region in known_places():
        found.setdefault(provider, set()).add(region)
    return {provider: frozenset(regions) for provider, regions in found.items()}
