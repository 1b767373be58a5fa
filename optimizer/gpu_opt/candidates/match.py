"""Which offers a question admits, and which of them each workload admits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache

from gpu_opt import hardware
from gpu_opt.domain.offer import Market, Offer
from gpu_opt.domain.option import Rejection
from gpu_opt.domain.partition import purchasable_in
from gpu_opt.domain.question import Question, Scope
from gpu_opt.domain.workload import Workload

ONPREM = "onprem"


def matches(value: str, patterns: Sequence[str]) -> bool:
    """Whether a value matches one of the patterns; no patterns match everything."""
    return not patterns or any(fnmatchcase(value.casefold(), pattern.casefold()) for pattern in patterns)


def gpu_set(patterns: Sequence[str]) -> frozenset[str]:
    """Canonical names that GPU patterns mean: a bare alias its one GPU, a pattern the family; empty for none."""
    return frozenset(name for pattern in patterns for name in hardware.match_gpus(pattern))


def residency_countries(codes: Iterable[str]) -> frozenset[str]:
    """ISO codes of all countries that a residency list allows."""
    return frozenset(country for code in codes for country in hardware.countries_in(code))


def admitted_offers(question: Question, offers: Iterable[Offer]) -> tuple[list[Offer], list[Rejection]]:
    """Offers within the scope, the markets and residency; the rest counted with the reason."""
    scope = question.scope
    gpus = gpu_set(scope.gpus)
    countries = residency_countries(scope.data_residency)
    markets = {*question.rent_markets, *question.consider}
    kept: list[Offer] = []
    refused: list[Rejection] = []
    outside = cache(lambda provider, region, gpu: _outside(provider, region, gpu, scope, gpus, countries))
    for offer in offers:
        code = _refusal(offer, scope, markets) or outside(offer.provider, offer.region, offer.gpu)
        if code:
            refused.append(Rejection(workload="", subject=offer.id, code=code, reason=_REASONS[code]))
        else:
            kept.append(offer)
    return kept, refused


_REASONS = {
    "purchasable": "known, but can't be bought",
    "market": "its market is neither rented nor considered",
    "scope": "outside the scope's providers, regions or GPUs",
    "residency": "outside the countries of data_residency, or in a place whose country nobody states",
}


def _refusal(offer: Offer, scope: Scope, markets: set[Market]) -> str:
    if not purchasable_in(offer, scope.regions):
        return "purchasable"
    if offer.market not in markets and not offer.quoted:
        return "market"
    return ""


def _outside(
    provider: str, region: str, gpu: str, scope: Scope, gpus: frozenset[str], countries: frozenset[str]
) -> str:
    if not matches(provider, scope.providers) or not matches(region, scope.regions) or (gpus and gpu not in gpus):
        return "scope"
    if countries and hardware.country_of(provider, region) not in countries:
        return "residency"
    return ""


def outside_scope(scope: Scope, provider: str, region: str, gpu: str) -> str:
    """Empty when a scope admits rented capacity of a place, else the code of the reason."""
    return _outside(provider, region, gpu, scope, gpu_set(scope.gpus), residency_countries(scope.data_residency))


def workload_admits(workload: Workload, *, gpu: str, region: str, spot: bool, onprem: bool) -> str:
    """Empty when a workload may use such capacity, else the code of the reason."""
    if workload.gpus and gpu not in gpu_set(workload.gpus):
        return "allow-list"
    if workload.regions and not onprem and not matches(region, workload.regions):
        return "region"
    if spot and not workload.spot.allow:
        return "spot"
    return ""
