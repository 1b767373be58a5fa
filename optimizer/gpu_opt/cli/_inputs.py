"""From what was typed to what the planner takes: a workload file, the offers in effect, the overlays on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_opt.cli._ages import check_ages
from gpu_opt.cli._offers import load_offers
from gpu_opt.cli._shown import warn
from gpu_opt.domain.question import Question
from gpu_opt.records import record

if TYPE_CHECKING:
    from gpu_opt.domain.offer import Offer
    from gpu_opt.workload_file.reader import WorkloadFile
    from gpu_opt_prices.table import OfferTable


@record
class Inputs:
    """A question with the offers that may answer it. `gaps` is what prices are known to lack."""

    question: Question
    table: OfferTable
    workload_sha256: str
    gaps: tuple[str, ...] = ()


def read_inputs(
    file: WorkloadFile,
    *,
    prices: Path | None = None,
    whole_hours: bool = False,
) -> Inputs:
    """Everything that a plan needs. `prices` stands in for the file's own. PriceDataError for prices too old."""
    from gpu_opt.workload_file.to_question import to_question

    own = file.path_of(file.prices.file) if file.prices.file else None
    table = load_offers(prices or own)
    if file.prices.overlays:
        from gpu_opt.workload_file.overlay import overlays_of
        from gpu_opt_prices.overlay import apply_overlays

        listed = table
        table = apply_overlays(listed, overlays_of(file))
        warn(warning for warning in table.warnings if warning not in listed.warnings)
    question = to_question(file, newest_as_of=table.newest_as_of, known_regions=regions_of(table.offers))
    if whole_hours:
        question = replace(question, whole_hours=True)
    limits = {str(market): float(days) for market, days in file.prices.max_age_days.items()}
    check_ages(question, table.offers, limits, datetime.now(UTC).date())
    gaps = () if prices or own else _gaps(table, question)
    return Inputs(question=question, table=table, workload_sha256=file.sha256, gaps=gaps)


def regions_of(offers: Iterable[Offer]) -> dict[str, frozenset[str]]:
    """Regions by provider."""
    found: dict[str, set[str]] = defaultdict(set)
    for offer in offers:
        found[offer.provider].add(offer.region)
    return {provider: frozenset(regions) for provider, regions in found.items()}


def _gaps(table: OfferTable, question: Question) -> tuple[str, ...]:
    """What the shipped prices lack among the question's providers. Ages are left out: they differ from day to day."""
    from gpu_opt_prices.coverage import gaps

    providers = question.scope.providers
    offers = [offer for offer in table.offers if not providers or offer.provider in providers]
    return gaps(offers, table.oldest_as_of)
