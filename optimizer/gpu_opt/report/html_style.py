"""The look of the HTML report: one style sheet, light and dark, without anything from elsewhere."""

from __future__ import annotations

# The eight colours of Okabe and Ito (2008), told apart with any colour vision; black gives way to grey.
SERIES_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a7a7a")

STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #1a2027; --soft: #5a6672; --line: #d9dee4;
  --accent: #0b5fae; --stripe: #f2f4f7; --grid: #e3e7ec; --warn: #8a4b00; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --card: #1a2027; --ink: #e8ecf0; --soft: #9fabb7;
  --line: #333d47; --accent: #7db8f0; --stripe: #202830; --grid: #2c353e; --warn: #ffb866; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 26px; margin: 8px 0 4px; }
h2 { font-size: 18px; margin: 0 0 12px; }
.sub { color: var(--soft); margin: 0 0 20px; }
section, .tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
section { padding: 18px 20px; margin: 0 0 18px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 12px; margin: 0 0 18px; }
.tiles > div { padding: 14px 16px; }
.tiles dt { color: var(--soft); font-size: 13px; }
.tiles dd { margin: 2px 0 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles small { display: block; font-size: 13px; font-weight: 400; color: var(--soft); }
.answer { display: grid; grid-template-columns: max-content 1fr; gap: 6px 18px; margin: 0; }
.answer dt { font-weight: 600; color: var(--accent); }
.answer dt { grid-column: 1; }
.answer dd { grid-column: 2; margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line);
  white-space: nowrap; }
th, td { padding: 6px 10px 6px 0; vertical-align: top; }
td { border-bottom: 1px solid var(--line); }
tbody tr:nth-child(even) { background: var(--stripe); }
td.n { white-space: nowrap; }
.r { text-align: right; white-space: nowrap; padding-left: 10px; }
tr.total td { font-weight: 700; border-top: 2px solid var(--line); background: var(--card); }
ul { margin: 0; padding-left: 20px; }
li { overflow-wrap: anywhere; }
.note { color: var(--soft); font-size: 13px; margin: 10px 0 0; }
figure { margin: 0; }
figcaption { color: var(--soft); font-size: 13px; margin: 0 0 8px; }
svg { display: block; width: 100%; min-width: 640px; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .soft { fill: var(--soft); }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .bar { stroke: var(--card); stroke-width: 1; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; margin: 8px 0 0; padding: 0;
  font-size: 13px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 640px) { .answer { grid-template-columns: 1fr; } .answer dt { margin-top: 6px; }
  .answer dd { grid-column: 1; } }
@media print { body { background: #fff; } section, .tiles > div { break-inside: avoid; border-color: #bbb; } }
"""
