"""Who this process is in its cluster: its namespace and its name among replicas. Files and environment only; asks no API server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dynamo_webhooks.kube.config import ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Mapping


def namespace(environ: Mapping[str, str] = os.environ, account: Path = ACCOUNT) -> str:
    """The namespace that we run in: `POD_NAMESPACE`, else the service account's file; empty outside a cluster."""
    if named := environ.get("POD_NAMESPACE", "").strip():
        return named
    try:
        return (account / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def instance(environ: Mapping[str, str] = os.environ) -> str:
    """What tells this replica from the others: `POD_NAME`, else the host's name, which in a pod is the same."""
    return environ.get("POD_NAME", "").strip() or os.uname().nodename
