"""A command group that imports a command's module only when that command runs, so that help stays quick."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

COMMANDS = {
    "plan": ("gpu_opt.cli.plan:command", "Choose the cheapest GPU mix for a workload, with its proof."),
    "fit": ("gpu_opt.cli.fit:command", "Show memory, speed and layout of a workload on each GPU."),
    "explain": ("gpu_opt.cli.explain:command", "Tell why a plan chose what it chose, and what would change it."),
    "verify": ("gpu_opt.cli.verify:command", "Re-check a plan from its file alone."),
    "offers": ("gpu_opt.cli.offers:command", "List the offers in effect, with their prices and dates."),
    "prices": ("gpu_opt.cli.prices:app", "Refresh, inspect and freeze price data."),
    "accuracy": ("gpu_opt.cli.accuracy:command", "Compare predictions with measured speeds and memory."),
    "calibrate": ("gpu_opt.cli.calibrate:command", "Refit the speed model to your own benchmarks."),
    "init": ("gpu_opt.cli.init:command", "Write a commented starter workload file."),
    "schema": ("gpu_opt.cli.schema:command", "Print the JSON Schema of the workload file."),
    "doctor": ("gpu_opt.cli.doctor:command", "Check the installation, the solver and the prices."),
}
"""Name -> (where its function or app is, its line in the help). Listed in this order."""

PLANNED = {
    "budget": "Cost by period, team, provider and market",
    "check": "The gate for continuous integration",
    "diff": "The difference between two plans",
    "whatif": "Sweeps over a workload file",
    "breakeven": "Rent, commit or buy",
    "export": "Plans for other tools",
}
"""Names that are kept for what is not built yet: refused by name, and not listed."""


def _refuse(name: str, what: str) -> NoReturn:
    typer.echo(f"gpu-opt {name}: not supported yet ({what}). See `gpu-opt --help` for what is.", err=True)
    raise typer.Exit(2)


def _placeholder(name: str, what: str, *, listed: bool) -> TyperCommand:
    def refuse() -> None:
        _refuse(name, what.rstrip("."))

    return TyperCommand(
        name=name,
        help=what,
        callback=refuse,
        hidden=not listed,
        add_help_option=False,
        rich_markup_mode=None,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


def load(name: str) -> Any:
    """The real command behind a listed name; None while its module does not exist."""
    module_name, _, attribute = COMMANDS[name][0].partition(":")
    try:
        target = getattr(import_module(module_name), attribute)
    except ModuleNotFoundError as missing:
        if missing.name != module_name:
            raise
        return None
    if not isinstance(target, typer.Typer):
        function, target = target, typer.Typer(add_completion=False)
        target.command(name)(function)
    target.rich_markup_mode = None
    target._add_completion = False
    loaded = get_command(target)
    loaded.name = name
    return loaded


class LazyGroup(TyperGroup):
    """Lists placeholders; a placeholder becomes the real command when it is resolved."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        listed = {name: _placeholder(name, line, listed=True) for name, (_, line) in COMMANDS.items()}
        hidden = {name: _placeholder(name, what, listed=False) for name, what in PLANNED.items()}
        self.commands = {**listed, **hidden}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, its module imported now."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            command = load(name) or command
        return name, command, rest
