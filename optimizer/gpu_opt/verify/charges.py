"""What is paid beside instances: moves of data, lateness, support, fixed charges, shortfalls, credits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date

from gpu_opt.verify.costs import AFTER, Table, near
from gpu_opt.verify.estate import TINY_HOURS, Estate, Json

_CENT = 0.006
_HOURS_PER_YEAR = 8760.0
_HOURS_PER_DAY = 24.0


def problems_of(have: Estate, table: Table) -> list[str]:
    """Charges that are missing, too many, or of the wrong size."""
    found = [*_moves(have, table), *_late(have, table), *_support(have, table), *_fixed(have, table)]
    return [*found, *_shortfalls(have, table), *_credits(have, table)]


def _lines(table: Table, label: str) -> dict[tuple[str, str, str], list[Json]]:
    """Lines of a label by (owner, period, workload)."""
    return {key[1:]: lines for key, lines in table.named.items() if key[0] == label}


def _moves(have: Estate, table: Table) -> Iterator[str]:
    """A workload whose data moves pays the move to each place that it uses, once."""
    owed: dict[tuple[str, str], float] = {}
    asked = have.evidence["services"]["asked"]
    entries = [(e, e["workload"]) for e in (*have.evidence["runs"]["placed"], *have.evidence["work"]["done"])]
    entries += [(s, asked[s["demand"]]["workload"]) for s in have.evidence["services"]["standing"]]
    for entry, group in entries:
        if entry["place_usd"] > 0.0:
            pool = have.pools[entry["pool"]]
            for member in have.evidence["shares"].get(group, {group: 1.0}):
                label = f"data to {pool['provider']}/{pool['region']}"
                owed[label, member] = entry["place_usd"] * have.share(group, member)
    paid: dict[tuple[str, str], float] = defaultdict(float)
    for (label, _, period, workload), lines in table.named.items():
        if label.startswith("data to "):
            paid[label, workload] += sum(line["quantity"] * line["rate_usd"] for line in lines)
            if period != have.names[0]:
                yield f"{workload}, {label}: it is paid in {period}, not in {have.names[0]}."
    for key in sorted({*owed, *paid}):
        if not near(paid.get(key, 0.0), owed.get(key, 0.0), _CENT):
            yield f"{key[1]}, {key[0]}: it costs ${owed.get(key, 0.0):,.2f}, ${paid.get(key, 0.0):,.2f} are paid."


def _late(have: Estate, table: Table) -> Iterator[str]:
    rules = {d["workload"]: d for d in have.evidence["runs"]["asked"] if d["usd_per_hour_late"] is not None}
    owed: dict[str, float] = defaultdict(float)
    for run in have.evidence["runs"]["placed"]:
        rule = rules.get(run["workload"])
        if rule is not None and run["end_hours"] - rule["deadline_hours"] > TINY_HOURS:
            owed[run["workload"]] += (run["end_hours"] - rule["deadline_hours"]) * rule["usd_per_hour_late"]
    paid: dict[str, float] = defaultdict(float)
    for (_, _, workload), lines in _lines(table, "late").items():
        paid[workload] += sum(line["usd"] for line in lines)
    for workload in sorted({*owed, *paid}):
        if abs(paid[workload] - owed[workload]) > _CENT * (1 + len(have.evidence["runs"]["placed"])):
            yield f"{workload}: being late costs ${owed[workload]:,.2f}, ${paid[workload]:,.2f} are paid."


def _support(have: Estate, table: Table) -> Iterator[str]:
    """Support is a fraction of what is spent with a provider, after the horizon too."""
    fractions = {
        o["provider"]: o["support_fraction"] for o in have.evidence["overheads"] if o["support_fraction"] > 0.0
    }
    spent: dict[tuple[str, str, str], float] = defaultdict(float)
    for line in have.plan["cost_lines"]:
        if line["provider"] in fractions:
            spent[line["provider"], line["period"], line["workload"]] += line["usd"]
    lines = _lines(table, "support")
    for key in sorted({*spent, *lines}):
        provider, period, workload = key
        base = sum(line["quantity"] for line in lines.get(key, ()))
        where = f"support of {provider}, {period}, {workload or 'platform'}"
        if abs(base - spent.get(key, 0.0)) > 2 * _CENT:
            yield f"{where}: it is on ${spent.get(key, 0.0):,.2f} spent, not on ${base:,.2f}."
        if any(abs(line["rate_usd"] - fractions.get(provider, 0.0)) > 1e-12 for line in lines.get(key, ())):
            yield f"{where}: its rate is {fractions.get(provider, 0.0):g}."


def _fixed(have: Estate, table: Table) -> Iterator[str]:
    """Fixed charges of every provider that anything is paid to, in every period."""
    used = {line["provider"] for line in have.plan["cost_lines"] if line["period"] != AFTER}
    owed: dict[tuple[str, str], float] = defaultdict(float)
    for overhead in have.evidence["overheads"]:
        if overhead["fixed_usd_per_period"] > 0.0 and overhead["provider"] in used:
            for name in have.names:
                owed[overhead["provider"], name] += overhead["fixed_usd_per_period"]
    paid: dict[tuple[str, str], float] = defaultdict(float)
    for (owner, period, _), lines in _lines(table, "fixed charge").items():
        paid[owner, period] += sum(line["usd"] for line in lines)
    for key in sorted({*owed, *paid}):
        if abs(paid.get(key, 0.0) - owed.get(key, 0.0)) > _CENT:
            yield f"fixed charge of {key[0]}, {key[1]}: ${owed.get(key, 0.0):,.2f}, not ${paid.get(key, 0.0):,.2f}."


def _shortfalls(have: Estate, table: Table) -> Iterator[str]:
    """What an agreement's least spend, by the horizon's share of a year, isn't reached by."""
    share = have.horizon_hours / _HOURS_PER_YEAR
    owed: dict[str, float] = defaultdict(float)
    for agreement in have.evidence["agreements"]:
        provider = agreement["provider"]
        spent = sum(
            line["usd"] for line in have.plan["cost_lines"] if line["provider"] == provider and line["period"] != AFTER
        )
        least = (agreement["min_spend_usd_per_year"] - agreement["other_spend_usd_per_year"]) * share
        owed[provider] += max(0.0, least - spent)
    paid: dict[str, float] = defaultdict(float)
    for (owner, _, _), lines in _lines(table, "agreement shortfall").items():
        paid[owner] += sum(line["usd"] for line in lines)
    for provider in sorted({*owed, *paid}):
        if abs(paid.get(provider, 0.0) - owed.get(provider, 0.0)) > 2 * _CENT:
            yield (
                f"agreement of {provider}: the shortfall is ${owed.get(provider, 0.0):,.2f},"
                f" not ${paid.get(provider, 0.0):,.2f}."
            )


def _credits(have: Estate, table: Table) -> Iterator[str]:
    """Credits pay their provider's lines until they expire, soonest first."""
    unpaid: dict[tuple[str, str], float] = defaultdict(float)
    for line in have.plan["cost_lines"]:
        owner = line["provider"] or (line["offer"] if line["label"] == "support" else "")
        unpaid[owner, line["period"]] += line["usd"]
    owed: dict[tuple[str, str, str], float] = defaultdict(float)
    start = date.fromisoformat(have.plan["start"])
    for credit in sorted(have.evidence["credits"], key=lambda c: (c["expires"], c["provider"])):
        left = credit["usd"]
        last = ((date.fromisoformat(credit["expires"]) - start).days + 1) * _HOURS_PER_DAY
        for name, end in zip(have.names, have.ends, strict=True):
            if end > last + TINY_HOURS:
                break
            paid = min(left, max(0.0, unpaid[credit["provider"], name]))
            left -= paid
            unpaid[credit["provider"], name] -= paid
            owed[credit["provider"], f"credit to {credit['expires']}", name] += paid
    paid_usd: dict[tuple[str, str, str], float] = defaultdict(float)
    for (label, owner, period, _), lines in table.named.items():
        if label.startswith("credit to "):
            paid_usd[owner, label, period] -= sum(line["usd"] for line in lines)
    for key in sorted({*owed, *paid_usd}):
        if abs(paid_usd.get(key, 0.0) - owed.get(key, 0.0)) > 2 * _CENT:
            owner, label, period = key
            yield (
                f"{label} of {owner}, {period}: it pays ${owed.get(key, 0.0):,.2f}, not ${paid_usd.get(key, 0.0):,.2f}."
            )
