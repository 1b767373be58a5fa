"""Questions without a file: the options of a command line as the data that a workload file would hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from gpu_opt.errors import InputError, Problem
from gpu_opt.records import record
from gpu_opt.workload_file.reader import WorkloadFile, from_data
from gpu_opt.workload_file.yaml_lines import Data, KeyPath, quoted

TRAIN_WORDS = ("pretrain", "full", "lora", "qlora")
SEQUENCE_LENGTH_TOKENS = 4096  # what most fine-tuning recipes use; --sequence-length says otherwise
SPOT_CHECKPOINT = "30min"
_HAVE = re.compile(
    r"(?P<count>\d+)x(?:(?P<provider>[\w.-]+)/)?(?P<type>[^@/]+)@(?P<region>[^:@]+):(?P<ends>\d{4}-\d{2}-\d{2})"
    r"(?::(?P<usd>.+))?"
)
_DISCOUNT = re.compile(r"(?P<provider>[\w.-]+)(?:/(?P<types>[^=]+))?=(?P<fraction>.+)")


@record
class ShortcutOptions:
    """Options as typed; text is read as the file's values are, with the same units. None and () are not given."""

    model: str | None = None
    train: str | None = None
    serve: bool = False
    name: str | None = None
    tokens: str | None = None
    sequence_length: str | None = None
    by: str | None = None
    max_gpus: str | None = None
    rps: str | None = None
    input: str | None = None
    output: str | None = None
    ttft_p95: str | None = None
    tpot_p95: str | None = None
    precision: str | None = None
    have: tuple[str, ...] = ()
    discount: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    region: tuple[str, ...] = ()
    market: tuple[str, ...] = ()


@record
class Shortcut:
    """The data of the question, and the option behind each path, for problems there."""

    data: dict[str, Data]
    options: Mapping[KeyPath, str] = field(default_factory=dict)

    def read(self, base_dir: Path | None = None) -> WorkloadFile:
        """The question as a file would be read."""
        return from_data(self.data, base_dir=base_dir, options=self.options)


def shortcut(options: ShortcutOptions) -> Shortcut:
    """The question that options ask. InputError with everything wrong with the options themselves."""
    maker = _Maker(options)
    data = maker.make()
    if maker.problems:
        raise InputError(maker.problems)
    return Shortcut(data=data, options=maker.options)


class _Maker:
    def __init__(self, options: ShortcutOptions) -> None:
        self.asked = options
        self.options: dict[KeyPath, str] = {}
        self.problems: list[Problem] = []

    def make(self) -> dict[str, Data]:
        asked = self.asked
        data: dict[str, Data] = {"version": "1"}
        prices = self._prices()
        if prices:
            data["prices"] = prices
        scope = dict(self._lists(("scope",), {"providers": asked.provider, "regions": asked.region}))
        if scope:
            data["scope"] = scope
        existing = list(self._existing())
        if existing:
            data["commitments"] = {"existing": existing}
        data["workloads"] = [self._workload()]
        return data

    def _refuse(self, option: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(file=option, what=what, remedy=remedy))

    def _lists(self, base: KeyPath, lists: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, Data]]:
        words = {"providers": "provider", "regions": "region", "gpus": "gpu", "markets": "market"}
        for key, values in lists.items():
            if values:
                for index, value in enumerate(values):
                    self.options[(*base, key, index)] = f"--{words[key]} {value}"
                yield key, list(values)

    def _prices(self) -> dict[str, Data]:
        prices = dict(self._lists(("prices",), {"markets": self.asked.market}))
        discounts = list(self._discounts())
        if discounts:
            prices["overlays"] = [{"version": "1", "discounts": discounts}]
        return prices

    def _discounts(self) -> Iterator[dict[str, Data]]:
        for text in self.asked.discount:
            match = _DISCOUNT.fullmatch(text.strip())
            if match is None:
                self._refuse(f"--discount {text}", "it is not of the form provider=fraction.", "Write aws=0.42.")
                continue
            entry: dict[str, Data] = {"provider": match["provider"]}
            if match["types"]:
                entry["instance_types"] = [match["types"]]
            yield {**entry, "fraction": match["fraction"]}

    def _existing(self) -> Iterator[dict[str, Data]]:
        for index, text in enumerate(self.asked.have):
            match = _HAVE.fullmatch(text.strip())
            if match is None:
                self._refuse(
                    f"--have {text}",
                    "it is not of the form COUNTxTYPE@REGION:LAST-DAY[:USD_PER_HOUR].",
                    "Write 8xp5.48xlarge@us-east-1:2027-08-31, and :61.4 where hours are still to be paid.",
                )
                continue
            self.options["commitments", "existing", index] = f"--have {text}"
            entry: dict[str, Data] = {"name": f"have-{index + 1}"}
            if match["provider"]:
                entry["provider"] = match["provider"]
            entry |= {"instance_type": match["type"], "region": match["region"], "instances": match["count"]}
            paid = {"already_paid": "true"} if match["usd"] is None else {"usd_per_instance_hour": match["usd"]}
            yield {**entry, "ends": match["ends"], **paid}

    def _workload(self) -> dict[str, Data]:
        asked = self.asked
        if asked.model is None:
            self._refuse("--model", "no model is named.", "Add --model llama-3.1-8b, or give a workload file.")
        if (asked.train is None) == (not asked.serve):
            what = "both are asked for." if asked.serve else "neither is asked for."
            self._refuse("--train or --serve", what, "Give one: --train lora --tokens 15B, or --serve --rps 40.")
            return {}
        entry: dict[str, Data] = {"name": asked.name or self._name(), "kind": "serve"}
        entry["model"] = self._model()
        entry |= self._serve() if asked.serve else self._train()
        entry |= self._taken({"precision": ("precision", asked.precision), "max_gpus": ("max-gpus", asked.max_gpus)})
        entry |= dict(self._lists(("workloads", 0), {"gpus": asked.gpu}))
        if "spot" in asked.market:
            entry["spot"] = {"allow": "true"}
            if not asked.serve:
                entry["checkpoint"] = {"interval": SPOT_CHECKPOINT}
        return entry

    def _name(self) -> str:
        word = "serve" if self.asked.serve else str(self.asked.train)
        model = (self.asked.model or "").rstrip("/").rsplit("/", 1)[-1]
        return f"{word}-{re.sub(r'[^A-Za-z0-9._-]+', '-', model)[:60].strip('-')}".lower()

    def _model(self) -> dict[str, Data]:
        """A preset by name, a configuration by its file, or a size such as `7B`."""
        model = self.asked.model or ""
        size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*[bB]", model)
        key = "params_billion" if size else "config" if model.endswith(".json") else "preset"
        self.options["workloads", 0, "model"] = f"--model {model}"
        return {key: size[1] if size else model}

    def _train(self) -> dict[str, Data]:
        asked = self.asked
        entry: dict[str, Data] = {"kind": "pretrain" if asked.train == "pretrain" else "finetune"}
        if asked.train not in TRAIN_WORDS:
            self._refuse(f"--train {asked.train}", "it is not known.", f"Choose from: {', '.join(TRAIN_WORDS)}.")
        elif asked.train != "pretrain":
            entry["method"] = asked.train
        if asked.tokens is None:
            self._refuse("--train", "how many tokens?", "Add --tokens 15B.")
        self._useless(("rps", "input", "output", "ttft_p95", "tpot_p95"), "--train")
        tokens = "tokens" if asked.train == "pretrain" else "dataset_tokens"
        entry |= self._taken({tokens: ("tokens", asked.tokens)})
        entry["sequence_length"] = str(SEQUENCE_LENGTH_TOKENS)
        return entry | self._taken(
            {"sequence_length": ("sequence-length", asked.sequence_length), "deadline": ("by", asked.by)}
        )

    def _serve(self) -> dict[str, Data]:
        asked = self.asked
        for option, value in (("rps", asked.rps), ("input", asked.input), ("output", asked.output)):
            if value is None:
                self._refuse("--serve", f"--{option} is missing.", "Add --rps 40 --input 500 --output 200.")
        self._useless(("tokens", "sequence_length", "by", "max_gpus"), "--serve")
        entry: dict[str, Data] = {"traffic": {"rps": asked.rps}}
        self.options["workloads", 0, "traffic", "rps"] = f"--rps {asked.rps}"
        entry |= self._taken({"input_tokens": ("input", asked.input), "output_tokens": ("output", asked.output)})
        slo: dict[str, Data] = {}
        for metric, value in (("ttft", asked.ttft_p95), ("tpot", asked.tpot_p95)):
            if value is not None:
                slo[metric] = {"p95": value}
                self.options["workloads", 0, "slo", metric, "p95"] = f"--{metric}-p95 {value}"
        return {**entry, "slo": slo} if slo else entry

    def _taken(self, keys: Mapping[str, tuple[str, str | None]]) -> dict[str, Data]:
        found: dict[str, Data] = {}
        for key, (option, value) in keys.items():
            if value is not None:
                found[key] = value
                self.options["workloads", 0, key] = f"--{option} {value}"
        return found

    def _useless(self, names: Iterable[str], beside: str) -> None:
        for name in names:
            if getattr(self.asked, name) is not None:
                option = f"--{name.replace('_', '-')}"
                self._refuse(option, f"it says nothing beside {beside}.", f"Leave it out: {quoted(option)}.")
