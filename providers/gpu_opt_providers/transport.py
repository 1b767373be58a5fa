"""HTTP with JSON: bounded in time and size, patient with busy servers, silent about keys.

A failure's words never hold a query, a header or a body: those may carry a key.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 20.0
TOTAL_SECONDS = 90.0
MAX_BYTES = 256 * 2**20
ATTEMPTS = 4
TIMEOUT_ATTEMPTS = 2
# What Azure's price service asks of callers that were too fast, where it names no time itself.
BUSY_SECONDS = 3.0
MAX_WAIT_SECONDS = 30.0
_CHUNK = 1 << 16
_RETRIED = frozenset({429, 500, 502, 503, 504})


class FetchFailed(Exception):
    """A provider gave no usable answer; the message says why, without a key in it."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Http:
    """GET and POST of JSON, with retries."""

    def __init__(
        self,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self._sleep = sleep or time.sleep
        self._clock = clock
        self._opener = urllib.request.build_opener(_NoRedirect())

    def get_json(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
        """The decoded answer of a GET; FetchFailed."""
        return self._json(url, None, headers or {})

    def post_json(self, url: str, body: object, headers: Mapping[str, str] | None = None) -> Any:
        """The decoded answer of a POST of JSON; FetchFailed."""
        return self._json(url, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _json(self, url: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        if urlsplit(url).scheme not in ("http", "https"):
            raise FetchFailed("the endpoint is not an http or https address")
        data = self._bytes(url, body, {"Accept": "application/json", "User-Agent": "gpu-opt", **headers})
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise FetchFailed("the answer is not JSON") from None

    def _bytes(self, url: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        timeouts = 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                request = urllib.request.Request(url, data=body, headers=dict(headers))
                with self._opener.open(request, timeout=self.timeout_seconds) as answer:
                    return self._read(answer)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code not in _RETRIED or attempt == ATTEMPTS:
                    raise FetchFailed(_status_text(error.code)) from None
                self._sleep(_wait_seconds(error, attempt))
            except TimeoutError:
                timeouts += 1
                if timeouts >= TIMEOUT_ATTEMPTS:
                    raise FetchFailed(f"no answer within {self.timeout_seconds:g} s") from None
            except (urllib.error.URLError, http.client.HTTPException, ConnectionError, ValueError) as error:
                if isinstance(getattr(error, "reason", None), TimeoutError):
                    timeouts += 1
                    if timeouts >= TIMEOUT_ATTEMPTS:
                        raise FetchFailed(f"no answer within {self.timeout_seconds:g} s") from None
                elif attempt == ATTEMPTS or isinstance(error, (ValueError, http.client.InvalidURL)):
                    raise FetchFailed(f"the connection failed ({_cause(error)})") from None
                self._sleep(min(2.0 ** (attempt - 1), MAX_WAIT_SECONDS))
        raise FetchFailed("the connection failed")

    def _read(self, answer: Any) -> bytes:
        """The body, within the total time and size; a server that drips is cut off."""
        end = self._clock() + TOTAL_SECONDS
        parts, size = [], 0
        while True:
            part = answer.read1(_CHUNK)
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > MAX_BYTES:
                raise FetchFailed("the answer is too large")
            if self._clock() > end:
                raise FetchFailed(f"the answer took more than {TOTAL_SECONDS:g} s")
        expected = answer.headers.get("Content-Length")
        if expected is not None and expected.isdigit() and int(expected) != size:
            raise http.client.IncompleteRead(b"", int(expected) - size)
        return b"".join(parts)


def _status_text(code: int) -> str:
    if code in (401, 403):
        return f"it refused access (HTTP {code}); check the key"
    if code == 429:
        return "it is too busy (HTTP 429)"
    return f"it answered HTTP {code}"


def _wait_seconds(error: urllib.error.HTTPError, attempt: int) -> float:
    named = error.headers.get("Retry-After", "") if error.headers else ""
    if named.strip().isdigit():
        return min(float(named), MAX_WAIT_SECONDS)
    return BUSY_SECONDS if error.code == 429 else min(2.0 ** (attempt - 1), MAX_WAIT_SECONDS)


def _cause(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return type(reason or error).__name__
