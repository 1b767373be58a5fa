"""`gpu-opt prices refresh`: from the providers into the cache, with a report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from gpu_opt.cli._common import clean_line, echo_err, progress, write_json
from gpu_opt.cli._offers import cache_dir
from gpu_opt.domain.names import nearest
from gpu_opt.errors import InputError, Problem, ProviderError

if TYPE_CHECKING:
    from gpu_opt.domain.offer import Offer
    from gpu_opt_prices.changes import Change
    from gpu_opt_providers.base import Missing, Parsed


@dataclass(frozen=True, kw_only=True)
class Report:
    """What one provider's refresh did. `error` says why it gave nothing at all."""

    provider: str
    usable: int
    change: Change
    refused: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "provider": self.provider,
            "usable_rows": self.usable,
            "kept": self.change.kept,
            "new": len(self.change.new),
            "changed": len(self.change.changed),
            "gone": len(self.change.gone),
            "refused": self.refused,
            "failed_regions": self.failed,
            "old_rows_kept_for": [
                {"region": part.region, "market": part.market, "gpu": part.gpu, "reason": part.reason}
                for part in self.missing
            ],
            "notes": list(self.notes),
            "error": self.error,
        }


def refresh_providers(providers: Sequence[str], regions: Sequence[str], *, output: str) -> None:
    """Refresh each provider on its own; ProviderError when one that was asked for is left without usable rows."""
    names = _checked_names(providers)
    now = datetime.now(UTC)
    reports = []
    for name in names:
        with progress(f"reading the prices of {name}"):
            report = _refresh(name, tuple(dict.fromkeys(regions)), now)
        reports.append(report)
        if output != "json":
            typer.echo(_text(report))
    if output == "json":
        write_json({"schema": "gpu-opt/prices-refresh/1", "providers": [report.as_dict() for report in reports]})
    empty = [report.provider for report in reports if not report.usable]
    if empty:
        raise ProviderError(f"no usable rows, new or kept: {', '.join(empty)}.")


def _checked_names(providers: Sequence[str]) -> list[str]:
    from gpu_opt_providers.registry import ADAPTERS, WITHOUT_ADAPTER

    problems = []
    for name in providers:
        if name.lower() in ADAPTERS:
            continue
        if name.lower() in WITHOUT_ADAPTER:
            what = f"--provider: refreshing {name} is not supported yet: {WITHOUT_ADAPTER[name.lower()]}."
            remedy = "Use `gpu-opt prices import FILE`, or an overlay."
        else:
            close = nearest(name, ADAPTERS)
            what = f"--provider: refreshing {name[:60]!r} is not supported."
            remedy = f"Did you mean {close}?" if close else f"Supported: {', '.join(sorted(ADAPTERS))}."
        problems.append(Problem(what=what, remedy=remedy))
    if problems:
        raise InputError(problems)
    return list(dict.fromkeys(name.lower() for name in providers)) or sorted(ADAPTERS)


def _refresh(name: str, regions: tuple[str, ...], now: datetime) -> Report:
    from gpu_opt_prices.effective import provider_offers
    from gpu_opt_prices.store import read_cached
    from gpu_opt_providers.base import FetchFailed, Request
    from gpu_opt_providers.registry import load_adapter

    cached, warnings = read_cached(cache_dir(), name)
    for warning in warnings:
        echo_err(f"warning: {warning}")
    before = provider_offers(name, cached)
    known = tuple(sorted({offer.region for offer in before}))
    try:
        adapter = load_adapter(name, os.environ)
        parsed = adapter.parse(adapter.fetch_raw(Request(regions=regions, known_regions=known, today=now.date())))
    except FetchFailed as failure:
        return _nothing(name, before, str(failure), failed=dict.fromkeys(regions, str(failure)))
    except Exception as error:  # one provider's nonsense must not cost the others theirs
        if os.environ.get("GPU_OPT_DEBUG", "0") not in ("", "0"):
            raise
        why = f"its answer can't be understood ({type(error).__name__})"
        return _nothing(name, before, why, failed=dict.fromkeys(regions, why))
    return _take(name, regions, now, before, parsed)


def _take(name: str, regions: tuple[str, ...], now: datetime, before: Sequence[Offer], parsed: Parsed) -> Report:
    """Check an answer's rows and put them in the cache. A region without a usable row counts as failed."""
    from gpu_opt_prices.intake import take_in
    from gpu_opt_prices.update import Keep, store_rows

    table = take_in(parsed.rows, name, now.date())
    refused = Counter(dict(table.refused_by_reason()))
    refused.update(entry.reason for entry in parsed.refused)
    asked = {region.lower() for region in regions}
    wanted = [offer for offer in table.offers if not asked or offer.region.lower() in asked]
    answered = {offer.region for offer in wanted}
    failed = dict(parsed.failed)
    for region in regions:
        if region.lower() not in {offer.region.lower() for offer in wanted}:
            failed.setdefault(region, "the answer has no usable row of it")
    if not wanted:
        return _nothing(name, before, "the answer has no usable row", failed=failed, refused=dict(refused))
    change, after = store_rows(
        cache_dir(),
        name,
        wanted,
        answered=answered,
        failed=set(failed),
        complete=not regions,
        refused=dict(refused),
        keep=[Keep(region=part.region, market=part.market, gpu=part.gpu) for part in parsed.missing],
        moment=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return Report(
        provider=name,
        usable=len(after),
        change=change,
        refused=dict(refused),
        failed=failed,
        missing=parsed.missing,
        notes=parsed.notes,
    )


def _nothing(
    name: str, before: Sequence[Offer], error: str, *, failed: dict[str, str], refused: dict[str, int] | None = None
) -> Report:
    from gpu_opt_prices.changes import compare

    return Report(
        provider=name,
        usable=len(before),
        change=compare(before, before),
        refused=refused or {},
        failed=failed,
        error=error,
    )


def _text(report: Report) -> str:
    lines = [f"{report.provider}: {report.change.summary()}, {sum(report.refused.values())} refused"]
    if report.error:
        lines[0] = f"{report.provider}: failed: {report.error}; {report.usable} old rows kept"
    for reason, count in sorted(report.refused.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"  refused: {count} × {reason}")
    for region, reason in sorted(report.failed.items()):
        lines.append(f"  failed: {region}: {reason}; its old rows stay")
    for part in report.missing:
        where = " ".join(word for word in (part.region, part.market, "" if part.gpu == "*" else part.gpu) if word)
        lines.append(f"  not read: {where or 'part of it'}: {part.reason}; its old rows stay")
    lines.extend(f"  note: {note}" for note in report.notes)
    return "\n".join(clean_line(line) for line in lines)
