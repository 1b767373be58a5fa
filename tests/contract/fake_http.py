"""A provider's service on this machine: a function from a request to an answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as the service saw it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the service says: JSON, or raw bytes."""

    json: Any = None
    raw: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Service:
    """The running service: where it is and what it was asked."""

    address: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def serving(respond: Callable[[Asked], Answer]) -> Iterator[Service]:
    """Run a service on a free port of the loopback."""
    service = Service(address="")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(size)
            try:
                body: Any = json.loads(text) if text else None
            except ValueError:
                body = text.decode()
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            asked = Asked(
                method=self.command, path=parts.path, query=query, headers=dict(self.headers.items()), body=body
            )
            service.asked.append(asked)
            answer = respond(asked)
            data = answer.raw if answer.raw is not None else json.dumps(answer.json).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(data)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
