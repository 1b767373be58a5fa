"""The plan as one HTML file: no script, nothing from elsewhere, everything escaped, readable in light and dark."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from gpu_opt.domain.plan import Plan
from gpu_opt.report import money
from gpu_opt.report.answer import gpus_per_instance
from gpu_opt.report.charts import Bar, Series, columns, fewer, gantt
from gpu_opt.report.cost_sections import PLATFORM, cost_matrix
from gpu_opt.report.html_style import STYLE
from gpu_opt.report.section import Report, Section
from gpu_opt.report.sections import report_of
from gpu_opt.report.text import html
from gpu_opt.units import SECONDS_PER_HOUR

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LANES = 40
_NO_BREAK = 26
_MONTHS_TO_SHOW = 18


def render(plan: Plan) -> str:
    """The whole page."""
    report = report_of(plan)
    time = f"{plan.periods[0][0]} to {plan.periods[-1][0]}" if len(plan.periods) > 1 else plan.periods[0][0]
    body = [
        f"<h1>{html(report.title)}</h1>",
        f'<p class="sub">{html(time)}, from {html(plan.start)} · prices as of {html(plan.prices_as_of)}</p>',
        _tiles(plan),
        _answer(report),
        cost_chart(plan),
        schedule_chart(plan),
        fleet_chart(plan),
        *(_section(section) for section in report.sections),
        _colophon(plan),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html(report.title)}: {html(time)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def cost_chart(plan: Plan) -> str:
    """Cost by period, stacked by workload."""
    periods, matrix = cost_matrix(plan)
    if not periods or not any(any(amounts) for _, amounts in matrix):
        return ""
    series = [Series(name=name or PLATFORM, values=tuple(amounts)) for name, amounts in matrix]
    caption = f"{money.usd_short(plan.objective_usd)} in all, effective; the table below has each number."
    return columns("cost", "Cost by period", caption, periods, fewer(series, "others"), money.usd_short)


def schedule_chart(plan: Plan) -> str:
    """Runs where there are some; what is on for a whole period as one bar for each."""
    starts, at = {}, 0.0
    for name, hours in plan.periods:
        starts[name] = (at, at + hours)
        at += hours
    bars = [
        Bar(
            lane=run.workload,
            start_hours=run.start_hours,
            end_hours=run.end_hours,
            hint=f"{run.workload}, run {run.run}: {run.instances} × {run.offer}, {money.minute(run.start)} to "
            f"{money.minute(run.end)} UTC",
        )
        for run in plan.schedule
    ]
    timed = {run.workload for run in plan.schedule}
    for workload in plan.workloads:
        for allocation in workload.allocations if workload.name not in timed else ():
            low, high = starts.get(allocation.period, (0.0, 0.0))
            hint = f"{workload.name}, {allocation.period}: {money.quantity(allocation.instance_hours)} instance-hours"
            lane = f"{workload.name} · {allocation.instance_type}"
            bars.append(Bar(lane=lane, start_hours=low, end_hours=high, hint=f"{hint} of {allocation.offer}"))
    lanes = list(dict.fromkeys(bar.lane for bar in bars))
    if not lanes:
        return ""
    kept = set(lanes[:_LANES])
    caption = (
        "Runs at their expected length (UTC); services and divisible work in the periods in which they use an offer."
    )
    if len(lanes) > _LANES:
        caption += f" {len(lanes) - _LANES} more lanes are left out."
    return gantt("schedule", "When it runs", caption, [bar for bar in bars if bar.lane in kept], _marks(plan))


def _marks(plan: Plan) -> list[tuple[str, float]]:
    """Where the time axis is marked: at months in a short horizon, else at periods; the end comes last."""
    start = datetime.fromisoformat(plan.start)
    end = sum(hours for _, hours in plan.periods)
    months: list[tuple[str, float]] = []
    day = start
    while (at := (day - start).total_seconds() / SECONDS_PER_HOUR) < end and len(months) <= _MONTHS_TO_SHOW:
        months.append((f"{day:%Y-%m}", at))
        day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    if len(months) <= _MONTHS_TO_SHOW:
        return [*months, ("", end)]
    at = 0.0
    marks: list[tuple[str, float]] = []
    for name, hours in plan.periods:
        marks.append((name, at))
        at += hours
    return [*marks, ("", at)]


def fleet_chart(plan: Plan) -> str:
    """GPUs that stand at the peak of each period, by GPU."""
    each = {a.offer: gpus_per_instance(a) for w in plan.workloads for a in w.allocations}
    periods = [name for name, _ in plan.periods]
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for entry in plan.fleet:
        sums[entry.gpu][entry.period] += entry.instances * (each.get(entry.offer) or 1.0)
    series = [Series(name=gpu, values=tuple(sums[gpu][name] for name in periods)) for gpu in sorted(sums)]
    if not any(any(entry.values) for entry in series):
        return ""
    caption = "The most GPUs of each kind at one time in each period; shared capacity counts once."
    return columns("fleet", "GPUs over time", caption, periods, fewer(series, "others"), money.count)


def _tiles(plan: Plan) -> str:
    gpu_hours = sum(workload.gpu_hours for workload in plan.workloads)
    proof = f"within {money.percent(plan.gap)} of the best possible" if plan.gap > 0 else "nothing is cheaper"
    proof = proof if plan.certified else "not proven"
    tiles = [
        ("Effective cost", money.usd_short(plan.objective_usd), _range(plan)),
        ("Billed inside the horizon", money.usd_short(plan.billed_usd), "cash, upfronts included"),
        ("GPU-hours", money.quantity(gpu_hours), _per_hour(plan, gpu_hours)),
        ("Status", plan.status, proof + ("; re-checked" if plan.verified else "; NOT verified")),
    ]
    cells = "".join(
        f"<div><dt>{html(name)}</dt><dd>{html(value)}<small>{html(more)}</small></dd></div>"
        for name, value, more in tiles
    )
    return f'<dl class="tiles">{cells}</dl>'


def _range(plan: Plan) -> str:
    if plan.low_usd == plan.high_usd:
        return "no range: every speed is given"
    return f"P10–P90 {money.usd_rough(plan.low_usd)}–{money.usd_rough(plan.high_usd)}"


def _per_hour(plan: Plan, gpu_hours: float) -> str:
    return f"{money.usd_rate(plan.objective_usd / gpu_hours)} each, all included" if gpu_hours else ""


def _answer(report: Report) -> str:
    rows = []
    for line in report.answer:
        label = f"<dt>{html(line.label)}</dt>" if line.label else ""
        rows.append(f"{label}<dd>{html(line.text)}</dd>")
    return f'<section><h2>The answer</h2><dl class="answer">{"".join(rows)}</dl></section>'


def _section(section: Section) -> str:
    parts = [f'<section id="{html(section.key)}"><h2>{html(section.title)}</h2>']
    if section.rows:
        parts.append(_table(section))
    if section.items:
        parts.append(f"<ul>{''.join(f'<li>{html(item)}</li>' for item in section.items)}</ul>")
    if section.note:
        parts.append(f'<p class="note">{html(section.note)}</p>')
    return "".join([*parts, "</section>"])


def _table(section: Section) -> str:
    kinds = ["" if letter == "l" else ' class="r"' for letter in section.align]
    short = [all(len(row[place]) <= _NO_BREAK for row in section.rows) for place in range(len(section.header))]
    cells_of = [kind or (' class="n"' if brief else "") for kind, brief in zip(kinds, short, strict=True)]
    head = "".join(f'<th scope="col"{kind}>{html(name)}</th>' for kind, name in zip(kinds, section.header, strict=True))
    rows = []
    for place, row in enumerate(section.rows):
        total = ' class="total"' if section.has_total and place == len(section.rows) - 1 else ""
        cells = "".join(f"<td{kind}>{html(cell)}</td>" for kind, cell in zip(cells_of, row, strict=True))
        rows.append(f"<tr{total}>{cells}</tr>")
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _colophon(plan: Plan) -> str:
    made = f"gpu-opt {plan.model_version}, {plan.solver_name} {plan.solver_version}"
    words = f"{made}; workload {plan.workload_sha256[:12]}, prices {plan.prices_sha256[:12]}"
    return f'<p class="note">{html(words)}</p>'
