"""How old prices are today: a sentence for the person, and the limits that a workload file sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from gpu_opt.domain.offer import Offer
from gpu_opt.domain.question import Question
from gpu_opt.errors import PriceDataError

_SHOWN = 6


def usable(question: Question, offers: Iterable[Offer]) -> list[Offer]:
    """Offers that the question's scope and markets let in; quotes and private prices carry no list's age."""
    from fnmatch import fnmatchcase

    scope, markets = question.scope, {*question.rent_markets, *question.consider}
    return [
        offer
        for offer in offers
        if offer.purchasable
        and not offer.quoted
        and not offer.source.startswith("overlay")
        and offer.market in markets
        and (not scope.providers or offer.provider in scope.providers)
        and (not scope.regions or any(fnmatchcase(offer.region.casefold(), p.casefold()) for p in scope.regions))
        and (not scope.gpus or offer.gpu in scope.gpus)
    ]


def check_ages(question: Question, offers: Iterable[Offer], max_age_days: Mapping[str, float], today: date) -> None:
    """PriceDataError where an offer that could be chosen is older than the file allows for its market."""
    oldest: dict[tuple[str, str], date] = {}
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for offer in usable(question, offers) if max_age_days else ():
        limit = max_age_days.get(offer.market.value)
        if limit is not None and (today - offer.as_of).days > limit:
            key = (offer.provider, offer.market.value)
            counts[key] += 1
            oldest[key] = min(oldest.get(key, offer.as_of), offer.as_of)
    if not oldest:
        return
    worst = sorted(oldest, key=lambda key: (oldest[key], key))
    lines = [
        f"  {provider} {market}: {counts[provider, market]} prices, the oldest of {oldest[provider, market]} "
        f"({(today - oldest[provider, market]).days} days, limit {max_age_days[market]:g})"
        for provider, market in worst[:_SHOWN]
    ]
    if len(worst) > _SHOWN:
        lines.append(f"  and {len(worst) - _SHOWN} more")
    raise PriceDataError(
        "prices are older than prices.max_age_days allows:\n"
        + "\n".join(lines)
        + "\nRun `gpu-opt prices refresh`, leave these providers out with scope.providers, or raise the limit."
    )


def used_as_of(offers: Sequence[Offer], ids: Iterable[str]) -> date | None:
    """The oldest day of the offers with these ids; None when none of them is a list price."""
    wanted = set(ids)
    providers = {i[:at] for i in wanted for at, c in enumerate(i) if c == "/"}  # cheaper than to write every offer's id
    days = [offer.as_of for offer in offers if offer.provider in providers and offer.id in wanted]
    return min(days, default=None)


def age_words(newest: date, oldest: date | None, today: date) -> str:
    """`prices: newest of 2026-08-19 (104 days old), oldest in this plan of 2026-01-01 (334 days old)`."""
    text = f"prices: newest of {newest} ({_days(newest, today)})"
    if oldest is not None and oldest != newest:
        text += f", oldest in this plan of {oldest} ({_days(oldest, today)})"
    return text


def _days(day: date, today: date) -> str:
    number = (today - day).days
    if number == 0:
        return "today"
    days = f"{abs(number):,} day{'s' if abs(number) != 1 else ''}"
    return f"{days} old" if number > 0 else f"{days} in the future; check as_of"
