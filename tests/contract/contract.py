"""What every adapter must do, on answers of the shape that its provider gives. One subclass a provider."""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from gpu_opt.domain.offer import Market, Offer
from gpu_opt_prices.intake import take_in
from gpu_opt_prices.table import OfferTable
from gpu_opt_providers.base import Adapter, Fetched, Parsed, Request
from gpu_opt_providers.registry import load_adapter
from gpu_opt_providers.transport import Http

TODAY = date(2026, 12, 1)


class AdapterContract(ABC):
    """`payloads` is a recorded answer by region; `priced` names an offer in it; `set_price` changes that offer's price
    inside an answer; `add_junk` puts entries in that are nothing."""

    provider: str
    regions: tuple[str, ...] = ()
    known_regions: tuple[str, ...] = ()
    priced: str
    usd: float

    @abstractmethod
    def payloads(self) -> dict[str, Any]: ...

    @abstractmethod
    def set_price(self, payloads: dict[str, Any], price: Any) -> None: ...

    @abstractmethod
    def add_junk(self, payloads: dict[str, Any]) -> None: ...

    def adapter(self) -> Adapter:
        return load_adapter(self.provider, {}, Http(sleep=lambda _: None))

    def parsed(self, payloads: dict[str, Any] | None = None) -> Parsed:
        request = Request(regions=self.regions, known_regions=self.known_regions, today=TODAY)
        return self.adapter().parse(
            Fetched(request=request, payloads=self.payloads() if payloads is None else payloads)
        )

    def table(self, payloads: dict[str, Any] | None = None) -> OfferTable:
        return take_in(self.parsed(payloads).rows, self.provider, TODAY)

    def offers(self) -> dict[str, Offer]:
        return {offer.id: offer for offer in self.table().offers}

    def test_a_recorded_answer_gives_offers_of_the_provider_dated_today(self) -> None:
        table = self.table()
        assert table.offers
        assert {offer.provider for offer in table.offers} == {self.provider}
        assert {offer.as_of for offer in table.offers} == {TODAY}
        assert not any(offer.source.startswith("snapshot:") for offer in table.offers)

    def test_a_known_price_comes_out(self) -> None:
        assert self.offers()[self.priced].usd_per_instance_hour == pytest.approx(self.usd, rel=1e-6)

    def test_parsing_is_pure(self) -> None:
        payloads = self.payloads()
        kept = copy.deepcopy(payloads)
        assert self.parsed(payloads) == self.parsed(payloads)
        assert payloads == kept

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_the_order_inside_an_answer_does_not_matter(self, seed: int) -> None:
        shuffled = _shuffled(self.payloads(), random.Random(seed))
        assert self.table(shuffled).offers == self.table().offers

    @pytest.mark.parametrize("price", [0, None, -1.0, float("nan"), float("inf"), "free"])
    def test_what_is_no_price_is_refused_and_counted(self, price: Any) -> None:
        payloads = self.payloads()
        self.set_price(payloads, price)
        parsed = self.parsed(payloads)
        table = take_in(parsed.rows, self.provider, TODAY)
        assert self.priced not in {offer.id for offer in table.offers}
        assert _reasons(parsed, table) - _reasons(self.parsed(), self.table())

    def test_entries_that_are_nothing_cost_nobody_else_a_row(self) -> None:
        payloads = self.payloads()
        self.add_junk(payloads)
        assert self.table(payloads).offers == self.table().offers

    def test_spot_never_costs_more_than_on_demand(self) -> None:
        offers = self.table().offers
        rent = {(o.region, o.instance_type): o.usd_per_instance_hour for o in offers if o.market is Market.ON_DEMAND}
        for offer in offers:
            if offer.market is Market.SPOT:
                assert offer.usd_per_instance_hour <= rent.get((offer.region, offer.instance_type), float("inf"))

    def test_every_offer_is_there_once(self) -> None:
        ids = [offer.id for offer in self.table().offers]
        assert len(ids) == len(set(ids))


def _reasons(parsed: Parsed, table: OfferTable) -> Counter[str]:
    return Counter(entry.code for entry in (*parsed.refused, *table.refused))


def _shuffled(value: Any, chance: random.Random) -> Any:
    """The same answer with every list in another order (tiers of a price keep theirs)."""
    if isinstance(value, dict):
        return {
            key: inner if key in ("tieredRates", "pricingInfo") else _shuffled(inner, chance)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        items = [_shuffled(item, chance) for item in value]
        chance.shuffle(items)
        return items
    return value


def edit(items: list[Any], matches: Callable[[Any], bool], **changed: Any) -> None:
    """Change the one item that matches."""
    (item,) = [item for item in items if isinstance(item, dict) and matches(item)]
    item.update(changed)
