"""The price cache: one file a provider, replaced whole, one writer at a time.

A file is JSON: which regions answered and when, and the rows as CSV with their hash. What does not add up is set aside,
and the shipped snapshot serves in its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpu_opt.errors import InputError, Problem
from gpu_opt_prices.columns import offers_csv
from gpu_opt_prices.table import OfferTable

SCHEMA = "gpu-opt/prices/1"
LOCK_SECONDS = 30.0
HISTORY_FILES = 400
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")


@dataclass(frozen=True, kw_only=True)
class Cached:
    """Rows of one provider. `regions` maps each region that ever answered to the moment it last did (ISO 8601).

    `complete`: a refresh of all regions answered, so that the snapshot's rows are gone, but for `failed_regions`.
    `refused` counts the rows refused at the last refresh, by reason.
    """

    provider: str
    complete: bool
    regions: Mapping[str, str]
    failed_regions: tuple[str, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    table: OfferTable = field(default_factory=lambda: OfferTable(offers=()))


class Corrupt(Exception):
    """A cache file that does not add up."""


def cache_file(cache_dir: Path, provider: str) -> Path:
    """Where a provider's rows lie; InputError for a name that can't be a file's."""
    if not _PROVIDER.match(provider):
        what = f"the provider {provider[:40]!r} can't be cached: use lower-case letters, digits, dots and dashes."
        raise InputError(Problem(path="provider", what=what))
    return cache_dir / "prices" / f"{provider}.json"


def cached_providers(cache_dir: Path) -> tuple[str, ...]:
    """Providers with a file in the cache."""
    return tuple(sorted(path.stem for path in (cache_dir / "prices").glob("*.json") if _PROVIDER.match(path.stem)))


def read_cached(cache_dir: Path, provider: str) -> tuple[Cached | None, tuple[str, ...]]:
    """What the cache holds of a provider, and warnings. A corrupt file is set aside."""
    path = cache_file(cache_dir, provider)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None, ()
    except OSError as error:
        return None, (f"the price cache of {provider} can't be read ({error.strerror}); the snapshot is used.",)
    try:
        return _from_json(text, provider), ()
    except Corrupt as why:
        kept = _set_aside(path)
        where = f" It was set aside as {kept.name}." if kept else ""
        return None, (f"the price cache of {provider} is damaged ({why}); the snapshot is used.{where}",)


def _from_json(data: bytes, provider: str) -> Cached:
    from gpu_opt_prices.reader import parse_offers  # without a cache nothing is parsed

    try:
        found = json.loads(data)
        csv, digest = found["csv"], found["sha256"]
        regions, failed, refused = found["regions"], found["failed_regions"], found["refused"]
        if found["schema"] != SCHEMA or found["provider"] != provider:
            raise Corrupt("another schema or provider")
        if not (
            isinstance(csv, str)
            and isinstance(regions, dict)
            and isinstance(failed, list)
            and isinstance(refused, dict)
        ):
            raise Corrupt("fields of the wrong kind")
        if hashlib.sha256(csv.encode()).hexdigest() != digest:
            raise Corrupt("its hash is another")
        table = parse_offers(csv, provider_data=True, name=f"cache/{provider}")
        return Cached(
            provider=provider,
            complete=found["complete"] is True,
            regions={str(region): str(moment) for region, moment in regions.items()},
            failed_regions=tuple(str(region) for region in failed),
            refused={str(reason): int(count) for reason, count in refused.items()},
            table=table,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError) as error:
        raise Corrupt(type(error).__name__) from None


def _set_aside(path: Path) -> Path | None:
    target = path.with_suffix(".damaged")
    try:
        os.replace(path, target)
    except OSError:
        return None
    return target


def write_cached(cache_dir: Path, cached: Cached, *, moment: str) -> None:
    """Replace a provider's file, and keep a copy in the history under the day of `moment`. Call it under `locked`."""
    csv = offers_csv(cached.table.offers)
    document = {
        "schema": SCHEMA,
        "provider": cached.provider,
        "complete": cached.complete,
        "regions": dict(cached.regions),
        "failed_regions": list(cached.failed_regions),
        "refused": dict(cached.refused),
        "sha256": hashlib.sha256(csv.encode()).hexdigest(),
        "csv": csv,
    }
    text = json.dumps(document, indent=1, sort_keys=True)
    path = cache_file(cache_dir, cached.provider)
    _replace(path, text)
    history = path.parent / "history" / cached.provider
    _replace(history / f"{moment[:10]}.csv", csv)
    for old in sorted(history.glob("*.csv"))[:-HISTORY_FILES]:
        old.unlink(missing_ok=True)


def _replace(path: Path, text: str) -> None:
    """Write beside, flush to the disk, and put in place: a reader sees the old file or the new one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise InputError(
            Problem(
                file=str(path),
                what=f"can't be written: {error.strerror}.",
                remedy="Set GPU_OPT_CACHE to another folder.",
            )
        ) from None


@contextlib.contextmanager
def locked(cache_dir: Path) -> Iterator[None]:
    """The right to write to the cache; InputError when another process holds it for long."""
    from filelock import FileLock, Timeout

    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        lock = FileLock(cache_dir / "prices.lock", timeout=LOCK_SECONDS)
        with lock:
            yield
    except Timeout:
        what = f"another process has been writing to it for {LOCK_SECONDS:.0f} s."
        raise InputError(Problem(file=str(cache_dir), what=what, remedy="Try again later.")) from None
    except OSError as error:
        if isinstance(error, (FileNotFoundError, PermissionError, FileExistsError, NotADirectoryError)):
            what = f"can't be used as the price cache: {error.strerror}."
            remedy = "Set GPU_OPT_CACHE to another folder."
            raise InputError(Problem(file=str(cache_dir), what=what, remedy=remedy)) from None
        raise


def history_files(cache_dir: Path, provider: str) -> tuple[Path, ...]:
    """Dated copies of a provider's rows, oldest first."""
    return tuple(sorted((cache_file(cache_dir, provider).parent / "history" / provider).glob("*.csv")))
