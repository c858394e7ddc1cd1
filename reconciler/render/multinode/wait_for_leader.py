"""Waits until the leader of this pod's replica accepts connections. Runs in an init container, on the standard library alone.

An address that answers may still be that of a leader which is going away, so the API server is asked whose it is. Where it can't be
asked, the connection decides alone. There is no time limit: whoever deletes the replica ends the wait.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PAUSE = 5  # seconds between attempts, and before the first one: an old leader needs a moment to be marked as going away
REPORT = 30  # seconds between lines of progress


def pods_at(address: str) -> list[dict[str, Any]]:
    """The pods of this namespace that have an address.

    Raises: OSError or ValueError when the API server can't be asked.
    """
    namespace = (ACCOUNT / "namespace").read_text().strip()
    url = f"https://kubernetes.default.svc/api/v1/namespaces/{namespace}/pods?fieldSelector=status.podIP={address}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text().strip()}"})
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=PAUSE, context=context) as answer:  # noqa: S310 - https
        found = json.load(answer)
    return list(found.get("items") or [])


def objection(address: str) -> str:
    """Why the pod at an address can't be the leader; empty when it can, or nobody can tell."""
    try:
        pods = pods_at(address)
    except (OSError, ValueError):
        return ""
    if not pods:
        return f"no pod has the address {address}"
    metadata, phase = pods[0].get("metadata") or {}, (pods[0].get("status") or {}).get("phase")
    if metadata.get("deletionTimestamp"):
        return f"pod {metadata.get('name')} is going away"
    return "" if phase == "Running" else f"pod {metadata.get('name')} is {phase}"


def attempt(host: str, port: int) -> str:
    """Tries once; returns what is in the way, or nothing."""
    try:
        address = socket.gethostbyname(host)
    except OSError as error:
        return f"no address: {error}"
    found = objection(address)
    if found:
        return found
    try:
        socket.create_connection((address, port), timeout=2).close()
    except OSError as error:
        return f"no connection to {address}: {error}"
    return ""


def main() -> int:
    """Waits; returns the exit code."""
    host, port = os.environ["LEADER_HOST"], int(os.environ["LEADER_PORT"])
    started = reported = time.monotonic()
    while True:
        time.sleep(PAUSE)
        found = attempt(host, port)
        now = time.monotonic()
        if not found:
            print(f"{host}:{port} is there after {now - started:.0f} s", flush=True)
            return 0
        if now - reported >= REPORT:
            reported = now
            print(f"waiting for {host}:{port} for {now - started:.0f} s: {found}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
