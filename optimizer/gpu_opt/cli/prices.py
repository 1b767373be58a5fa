"""`gpu-opt prices`: how old and how complete price data is, and how it changes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gpu_opt.cli._common import echo_err, write_json
from gpu_opt.cli._offers import cache_dir, load_offers, report_refused
from gpu_opt.cli._tables import text_table
from gpu_opt.domain.offer import Offer
from gpu_opt.errors import CheckFailed, InputError, PriceDataError, Problem

_SHOWN_FINDINGS = 20

app = typer.Typer(help="Refresh, inspect and freeze price data.", no_args_is_help=True, rich_markup_mode=None)

Output = Annotated[Literal["table", "json"], typer.Option("--format", help="How to print.")]
PriceFile = Annotated[Path | None, typer.Option(help="The offers of this CSV file, not those in effect.")]
Providers = Annotated[list[str] | None, typer.Option(help="Only this provider; repeatable.")]


@app.command()
def show(provider: Providers = None, prices: PriceFile = None, output: Output = "table") -> None:
    """Age and coverage of the offers, by provider and market; what was refused; what is missing."""
    from gpu_opt_prices.coverage import coverage, gaps

    table = load_offers(prices, quiet=output == "json")
    offers = _of_providers(table.offers, provider or [])
    rows = coverage(offers)
    missing = gaps(offers, datetime.now(UTC).date())
    counts = Counter(dict(table.refused_by_reason()))
    counts.update(_cached_refusals())
    if output == "json":
        write_json(
            {
                "schema": "gpu-opt/prices-show/1",
                "prices": {
                    "sha256": table.sha256,
                    "as_of": table.newest_as_of.isoformat(),
                    "oldest_as_of": table.oldest_as_of.isoformat(),
                },
                "coverage": [row.as_dict() for row in rows],
                "refused": dict(counts),
                "gaps": list(missing),
            }
        )
        return
    today = datetime.now(UTC).date()
    cells = [
        [
            *(row.provider, row.market),
            *map(str, (row.offers, row.purchasable, row.types, row.regions, row.gpus)),
            *(row.oldest.isoformat(), row.newest.isoformat(), str(max((today - row.newest).days, 0))),
        ]
        for row in rows
    ]
    header = ("provider", "market", "offers", "purchasable", "types", "regions", "GPUs", "oldest", "newest", "days old")
    lines = [text_table(header, cells), "", f"{len(offers)} offers, sha256 {table.sha256}"]
    lines.extend(f"refused: {count} × {reason}" for reason, count in sorted(counts.items()))
    lines.extend(f"gap: {gap}" for gap in missing)
    typer.echo("\n".join(lines))


def _cached_refusals() -> Counter[str]:
    from gpu_opt_prices.store import cached_providers, read_cached

    counts: Counter[str] = Counter()
    for name in cached_providers(cache_dir()):
        cached, _ = read_cached(cache_dir(), name)
        counts.update(dict(cached.refused) if cached else {})
    return counts


def _of_providers(offers: Sequence[Offer], providers: Sequence[str]) -> tuple[Offer, ...]:
    if not providers:
        return tuple(offers)
    _known_providers(providers, {offer.provider for offer in offers})
    wanted = {name.lower() for name in providers}
    return tuple(offer for offer in offers if offer.provider in wanted)


def _known_providers(names: Sequence[str], known: set[str]) -> None:
    from gpu_opt.domain.names import nearest

    problems = []
    for name in names:
        if name.lower() not in known:
            close = nearest(name, known)
            remedy = f"Did you mean {close}?" if close else f"Known: {', '.join(sorted(known))}."
            problems.append(Problem(what=f"--provider: nothing is called {name[:60]!r}.", remedy=remedy))
    if problems:
        raise InputError(problems)


@app.command()
def verify(prices: PriceFile = None, output: Output = "table") -> None:
    """Hold prices against each other: spot against on-demand, terms against rent, price against GPU count.

    Exits 5 when a row is refused or breaks a rule; what only looks odd is a warning.
    """
    from gpu_opt_prices.invariants import check_offers

    table = load_offers(prices)
    findings = check_offers(table.offers)
    errors = sum(finding.error for finding in findings)
    if output == "json":
        rows = [{"error": f.error, "rule": f.rule, "offer": f.offer, "text": f.text} for f in findings]
        document = {"offers": len(table.offers), "refused": dict(table.refused_by_reason()), "findings": rows}
        write_json({"schema": "gpu-opt/prices-verify/1", **document})
    else:
        shown = max(_SHOWN_FINDINGS, errors)
        for finding in findings[:shown]:
            typer.echo(f"{'error' if finding.error else 'warning'}: {finding.rule}: {finding.offer}: {finding.text}")
        if len(findings) > shown:
            typer.echo(f"… {len(findings) - shown} more warnings; see --format json.")
        warnings = len(findings) - errors
        typer.echo(
            f"{len(table.offers)} offers: {len(table.refused)} rows refused, {errors} errors, {warnings} warnings."
        )
    if errors or table.refused:
        raise CheckFailed(f"{errors + len(table.refused)} rows break a rule that prices must keep.")


@app.command()
def freeze(
    file: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    prices: PriceFile = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
) -> None:
    """Write the offers in effect to a file, for plans that must not move, and print its sha256."""
    from gpu_opt_prices.columns import offers_csv

    table = load_offers(prices)
    try:
        with file.open("w" if force else "x", encoding="utf-8", newline="") as target:
            target.write(offers_csv(table.offers))
    except FileExistsError:
        problem = Problem(file=str(file), what="exists already.", remedy="Choose another name, or use --force.")
        raise InputError(problem) from None
    except OSError as error:
        raise InputError(Problem(file=str(file), what=f"can't be written: {error.strerror}.")) from None
    typer.echo(f"{table.sha256}  {file}")
    echo_err(f"{len(table.offers)} offers as of {table.newest_as_of}. Use them with --prices {file}.")


@app.command("import")
def import_(file: Annotated[Path, typer.Argument(help="A CSV file of offers.")]) -> None:
    """Add a price file to the cache: its regions replace those of the same provider."""
    from gpu_opt_prices.reader import read_offers
    from gpu_opt_prices.update import store_rows

    table = read_offers(file, provider_data=False)
    report_refused(table, str(file))
    now = datetime.now(UTC)
    for provider in sorted({offer.provider for offer in table.offers}):
        offers = tuple(offer for offer in table.offers if offer.provider == provider)
        regions = {offer.region for offer in offers}
        change, _ = store_rows(cache_dir(), provider, offers, answered=regions, moment=_moment(now))
        typer.echo(f"{provider}: {len(offers)} offers of {len(regions)} regions; {change.summary()}.")


def _moment(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


@app.command()
def refresh(
    provider: Annotated[list[str] | None, typer.Option(help="Provider; repeatable; default: all.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Region; repeatable; default: all.")] = None,
    output: Output = "table",
) -> None:
    """Read providers' price lists into the cache, and report what changed.

    A region that fails keeps its old rows. Exits 7 when a provider asked for has no usable rows, new or kept.
    """
    from gpu_opt.cli._refresh import refresh_providers

    refresh_providers(provider or [], region or [], output=output)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A price file, or `snapshot`, or `current`.")],
    after: Annotated[str, typer.Argument(help="A price file, or `snapshot`, or `current`.")],
    output: Output = "table",
) -> None:
    """What is new, gone and changed between two sets of offers."""
    from gpu_opt_prices.changes import compare

    change = compare(_named_offers(before), _named_offers(after))
    if output == "json":
        write_json({"schema": "gpu-opt/prices-diff/1", **change.as_dict()})
        return
    cells = [
        [offer.id, f"{old:.4f}", f"{new:.4f}", f"{100 * (new / old - 1):+.1f}%" if old else ""]
        for offer, old, new in change.changed
    ]
    lines = [text_table(("changed", "before", "after", "by"), cells)] if cells else []
    lines.extend(f"new: {offer.id} at {offer.usd_per_instance_hour:.4f}" for offer in change.new)
    lines.extend(f"gone: {offer.id} at {offer.usd_per_instance_hour:.4f}" for offer in change.gone)
    typer.echo("\n".join([*lines, change.summary().capitalize() + "."]))


def _named_offers(name: str) -> tuple[Offer, ...]:
    from gpu_opt_prices.effective import default_offers

    if name == "snapshot":
        return default_offers(None).offers
    return load_offers(None if name == "current" else Path(name)).offers


@app.command()
def history(
    provider: Annotated[str, typer.Option(help="Provider.")],
    gpu: Annotated[str | None, typer.Option(help="GPU name or pattern.")] = None,
    output: Output = "table",
) -> None:
    """The cheapest price of each GPU and market on each day that a provider was refreshed or imported."""
    from gpu_opt.hardware import UnknownName, match_gpus
    from gpu_opt_prices.history import cheapest_by_day

    try:
        gpus = match_gpus(gpu) if gpu else ()
    except UnknownName as unknown:
        remedy = f"Did you mean {unknown.nearest}?" if unknown.nearest else ""
        raise InputError(Problem(what=f"--gpu: the GPU {unknown.name[:60]!r} is unknown.", remedy=remedy)) from None
    rows = cheapest_by_day(cache_dir(), provider.lower(), gpus)
    if not rows:
        raise PriceDataError(
            f"there is no history of {provider[:60]} yet: it begins with `gpu-opt prices refresh --provider "
            f"{provider[:60]}`."
        )
    if output == "json":
        write_json({"schema": "gpu-opt/prices-history/1", "provider": provider, "rows": [_day(row) for row in rows]})
        return
    cells = [[row.day.isoformat(), row.gpu, row.market, f"{row.usd_per_gpu_hour:.4f}", row.offer] for row in rows]
    sys.stdout.write(text_table(("day", "GPU", "market", "$/GPU-hour", "offer"), cells) + "\n")


def _day(row: Any) -> dict[str, Any]:
    day: date = row.day
    return {
        "day": day.isoformat(),
        "gpu": row.gpu,
        "market": row.market,
        "usd_per_gpu_hour": row.usd_per_gpu_hour,
        "offer": row.offer,
    }
