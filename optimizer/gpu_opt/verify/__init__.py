"""Re-checks a plan from its file alone: demands, capacity at every time, limits, every cost line, sums and bound.

Nothing of the planner is used, so that a mistake there can't hide here. What the file says under `evidence` is the
question and the decisions; every sum, schedule and limit is worked out again from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_opt.verify import (
    after,
    allocations,
    capacity,
    charges,
    costs,
    estate,
    form,
    limits,
    profile,
    runs,
    services,
    story,
    sums,
    work,
)

_MOST_PROBLEMS = 200


def check(plan: Mapping[str, Any]) -> list[str]:
    """Problems with a plan, one sentence each; none when it holds. Never raises, whatever the document holds."""
    try:
        return _found(plan)[:_MOST_PROBLEMS]
    except form.TooLarge as problem:
        return [str(problem)]
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return [f"the document can't be checked: {type(error).__name__} while reading its evidence."]


def _found(plan: Mapping[str, Any]) -> list[str]:
    problems = form.problems_of(plan)
    if problems:
        return problems
    have = estate.read(plan)
    if have.problems:
        return have.problems
    problems += runs.problems_of(have)
    problems += work.problems_of(have)
    problems += services.problems_of(have)
    profiles = profile.profiles_of(have)
    problems += capacity.problems_of(have, profiles)
    problems += limits.problems_of(have, profiles)
    table = costs.table_of(have)
    problems += table.problems
    problems += costs.problems_of(have, table, profiles)
    problems += charges.problems_of(have, table)
    problems += after.problems_of(have, table)
    problems += sums.problems_of(have)
    problems += allocations.problems_of(have, table)
    problems += story.problems_of(have, profiles)
    return problems
