"""GCP: the billing catalogue's SKUs and the compute service's machine types, over REST.

The SDK's compute package takes seconds to import, so only google-auth is used, and only where there are credentials to
find. This module fetches; `gcp_skus` composes machine prices out of SKUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from gpu_opt_providers.base import Adapter, Fetched, FetchFailed, Missing, Parsed, Request
from gpu_opt_providers.gcp_skus import machine_rows

COMPUTE_SERVICE = "6F81-5844-456A"  # Compute Engine in the billing catalogue
_PAGE_SKUS, _PAGE_MACHINES = 5000, 500
_MAX_PAGES = 2000
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_SKU_FIELDS = ("skuId", "description", "category", "serviceRegions", "pricingInfo")


class Gcp(Adapter):
    """Reads all SKUs, which hold all regions, and where each machine type really is."""

    name = "gcp"

    def fetch_raw(self, request: Request) -> Fetched:
        headers = self._headers()
        billing = self.endpoint("GPU_OPT_GCP_BILLING_ENDPOINT", "https://cloudbilling.googleapis.com")
        skus = self._pages(
            f"{billing}/v1/services/{COMPUTE_SERVICE}/skus", {"pageSize": str(_PAGE_SKUS)}, headers, "skus"
        )
        if not skus:
            raise FetchFailed("the catalogue has no SKUs")
        machines: list[Any] | None = None
        notes = []
        try:
            machines = self._machines(headers)
        except FetchFailed as error:
            notes.append(f"machine types: {error}; where each is really sold is not checked")
        kept = [{field: sku.get(field) for field in _SKU_FIELDS} for sku in skus if isinstance(sku, dict)]
        return Fetched(
            request=request,
            payloads={"": {"skus": kept, "machines": machines}},
            missing=(Missing(gpu="TPU-*", reason="TPU prices are not supported yet"),),
            notes=tuple(notes),
        )

    def _headers(self) -> dict[str, str]:
        """A bearer token of the application default credentials, unless the endpoint is to be asked anonymously."""
        if self.environment.get("GPU_OPT_GCP_ANONYMOUS") == "1":
            return {}
        try:
            import google.auth
            import google.auth.exceptions
            import google.auth.transport.requests
        except ModuleNotFoundError:
            raise FetchFailed("it needs google-auth: pip install 'gpu-opt[gcp]'") from None
        try:
            credentials, _ = google.auth.default(scopes=[_SCOPE])
            refresh: Any = credentials.refresh  # it has no types
            refresh(google.auth.transport.requests.Request())
        except google.auth.exceptions.GoogleAuthError as error:
            raise FetchFailed(f"no usable credentials ({type(error).__name__})") from None
        return {"Authorization": f"Bearer {credentials.token}"}

    def _machines(self, headers: Mapping[str, str]) -> list[Any]:
        """Machine types of all zones: one aggregated list, else zone by zone."""
        project = self.environment.get("GOOGLE_CLOUD_PROJECT", "")
        if not project:
            raise FetchFailed("set GOOGLE_CLOUD_PROJECT")
        compute = self.endpoint("GPU_OPT_GCP_COMPUTE_ENDPOINT", "https://compute.googleapis.com")
        base = f"{compute}/compute/v1/projects/{quote(project, safe='')}"
        query = {"maxResults": str(_PAGE_MACHINES)}
        try:
            scopes = self._pages(f"{base}/aggregated/machineTypes", query, headers, "items")
            return [machine for scope in scopes for machine in _list(scope, "machineTypes")]
        except FetchFailed:
            zones = self._pages(f"{base}/zones", query, headers, "items")
        machines: list[Any] = []
        for zone in zones:
            name = str(zone.get("name", "")) if isinstance(zone, dict) else ""
            for machine in self._pages(f"{base}/zones/{quote(name)}/machineTypes", query, headers, "items"):
                machines.append({"zone": name, **machine} if isinstance(machine, dict) else machine)
        return machines

    def _pages(self, url: str, query: Mapping[str, str], headers: Mapping[str, str], key: str) -> list[Any]:
        """All entries under `key`; the values where it is an object (an aggregated list)."""
        found: list[Any] = []
        token = ""
        for _ in range(_MAX_PAGES):
            page = self.http.get_json(
                f"{url}?{urlencode({**query, **({'pageToken': token} if token else {})})}", headers
            )
            if not isinstance(page, dict):
                raise FetchFailed("the answer is no object")
            entries = page.get(key)
            if isinstance(entries, dict):
                found.extend({"scope": scope, **value} for scope, value in entries.items() if isinstance(value, dict))
            elif isinstance(entries, list):
                found.extend(entries)
            token = str(page.get("nextPageToken") or "")
            if not token:
                return found
        raise FetchFailed("its pages never end")

    def parse(self, fetched: Fetched) -> Parsed:
        payload = fetched.payloads[""]
        rows, refused = machine_rows(payload["skus"], payload["machines"], set(fetched.request.regions))
        return Parsed(rows=tuple(rows), refused=tuple(refused), missing=fetched.missing, notes=fetched.notes)


def _list(scope: object, key: str) -> Iterable[Any]:
    found = scope.get(key) if isinstance(scope, dict) else None
    return found if isinstance(found, list) else ()
