"""Charts as inline SVG: stacked columns by period, and runs in calendar time. Each has a title and a description."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from gpu_opt.records import record
from gpu_opt.report.html_style import SERIES_COLOURS
from gpu_opt.report.text import html

_WIDTH = 960
_COLUMNS_HEIGHT, _ONE_COLUMN_HEIGHT = 300, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 12, 18, 34
_LANE, _LANE_LABEL = 26, 230
_TICKS = 4
_LEAST_BAR = 2.0
_SLIGHT_FRACTION = 0.3  # of a step


@record
class Series:
    """One part of each column; as many values as there are columns."""

    name: str
    values: tuple[float, ...]


@record
class Bar:
    """A stretch of time on a lane, in hours from the start; `hint` is shown when pointed at."""

    lane: str
    start_hours: float
    end_hours: float
    hint: str


def colour(place: int) -> str:
    """The colour of the series in this place."""
    return SERIES_COLOURS[place % len(SERIES_COLOURS)]


def fewer(series: Sequence[Series], rest: str) -> list[Series]:
    """At most eight series: the largest stay, the others become one."""
    most = len(SERIES_COLOURS)
    kept = [entry for entry in series if any(entry.values)]
    if len(kept) <= most:
        return kept
    order = sorted(kept, key=lambda entry: (-sum(map(abs, entry.values)), entry.name))
    large, small = order[: most - 1], order[most - 1 :]
    return [
        *large,
        Series(name=rest, values=tuple(sum(column) for column in zip(*(s.values for s in small), strict=True))),
    ]


def columns(
    key: str,
    title: str,
    caption: str,
    names: Sequence[str],
    series: Sequence[Series],
    words: Callable[[float], str],
) -> str:
    """Stacked columns with gridlines and a legend; what is below zero is stacked downwards."""
    high = max((sum(s.values[i] for s in series if s.values[i] > 0) for i in range(len(names))), default=0.0)
    low = min((sum(s.values[i] for s in series if s.values[i] < 0) for i in range(len(names))), default=0.0)
    ticks = _ticks(low, high)
    height = _COLUMNS_HEIGHT if len(names) > 1 else _ONE_COLUMN_HEIGHT
    floor = min(ticks[0], low)
    scale = (height - _TOP - _BOTTOM) / ((ticks[-1] - floor) or 1.0)

    def y(value: float) -> float:
        return height - _BOTTOM - (value - floor) * scale

    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(t):.1f}" y2="{y(t):.1f}"/>'
        f'<text class="soft" x="{_LEFT - 8}" y="{y(t) + 4:.1f}" text-anchor="end">{html(words(t))}</text>'
        for t in ticks
    ]
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(names), 1)
    wide = min(step * 0.62, 120.0)
    for index, name in enumerate(names):
        left = _LEFT + step * index + (step - wide) / 2
        parts += _stack(series, index, left, wide, y, name, words)
        if len(names) <= 16 or index % math.ceil(len(names) / 16) == 0:
            middle = left + wide / 2
            parts.append(f'<text x="{middle:.1f}" y="{height - 12}" text-anchor="middle">{html(name)}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(0):.1f}" y2="{y(0):.1f}"/>')
    return _figure(key, title, caption, height, parts, [entry.name for entry in series])


def _stack(
    series: Sequence[Series],
    index: int,
    left: float,
    wide: float,
    y: Callable[[float], float],
    name: str,
    words: Callable[[float], str],
) -> list[str]:
    parts, above, below = [], 0.0, 0.0
    for place, entry in enumerate(series):
        value = entry.values[index]
        if not value:
            continue
        base = above if value > 0 else below
        top, bottom = y(max(base, base + value)), y(min(base, base + value))
        hint = html(f"{entry.name}, {name}: {words(value)}")
        parts.append(
            f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{bottom - top:.1f}" '
            f'fill="{colour(place)}"><title>{hint}</title></rect>'
        )
        above, below = (above + value, below) if value > 0 else (above, below + value)
    if above:
        total = html(words(above + below))
        parts.append(f'<text x="{left + wide / 2:.1f}" y="{y(above) - 5:.1f}" text-anchor="middle">{total}</text>')
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers up to at or above `high`, and down to `low` where that is worth a line of its own."""
    reach = high - low
    if reach <= 0:
        return [0.0, 1.0]
    raw = reach / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= raw - 1e-12)
    first = math.floor(low / step + _SLIGHT_FRACTION)
    last = math.ceil(high / step - 1e-9)
    return [step * place for place in range(first, last + 1)]


def gantt(key: str, title: str, caption: str, bars: Sequence[Bar], marks: Sequence[tuple[str, float]]) -> str:
    """Bars on lanes over time. `marks` are (name, hours) of period starts, the last one the horizon's end."""
    lanes = list(dict.fromkeys(bar.lane for bar in bars))
    height = _TOP + _LANE * len(lanes) + _BOTTOM
    reach = max(marks[-1][1], max((bar.end_hours for bar in bars), default=0.0)) or 1.0
    scale = (_WIDTH - _LANE_LABEL - _RIGHT) / reach

    def x(hours: float) -> float:
        return _LANE_LABEL + min(max(hours, 0.0), reach) * scale

    bottom = height - _BOTTOM
    parts = [f'<line class="grid" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{_TOP}" y2="{bottom}"/>' for _, at in marks]
    parts += [
        f'<text class="soft" x="{(x(at) + x(after)) / 2:.1f}" y="{height - 12}" '
        f'text-anchor="middle">{html(name)}</text>'
        for (name, at), (_, after) in pairwise(marks)
    ]
    for place, lane in enumerate(lanes):
        top = _TOP + _LANE * place
        parts.append(f'<text x="0" y="{top + 17}">{html(_short(lane))}<title>{html(lane)}</title></text>')
        for bar in bars:
            if bar.lane == lane:
                wide = max(x(bar.end_hours) - x(bar.start_hours), _LEAST_BAR)
                parts.append(
                    f'<rect class="bar" x="{x(bar.start_hours):.1f}" y="{top + 4}" width="{wide:.1f}" '
                    f'height="{_LANE - 8}" rx="3" fill="{colour(place)}"><title>{html(bar.hint)}</title></rect>'
                )
    return _figure(key, title, caption, height, parts, [])


def _short(name: str, most: int = 34) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _figure(key: str, title: str, caption: str, height: int, parts: Sequence[str], legend: Sequence[str]) -> str:
    entries = "".join(
        f'<li><i style="background:{colour(place)}"></i>{html(name)}</li>' for place, name in enumerate(legend)
    )
    shown = f'<ul class="legend">{entries}</ul>' if entries else ""
    return (
        f"<section><h2>{html(title)}</h2><figure><figcaption>{html(caption)}</figcaption>"
        f'<div class="scroll" tabindex="0"><svg viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-labelledby="{key}-title {key}-desc"><title id="{key}-title">{html(title)}</title>'
        f'<desc id="{key}-desc">{html(caption)}</desc>{"".join(parts)}</svg></div>{shown}</figure></section>'
    )
