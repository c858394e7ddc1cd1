"""Who this process is in its cluster: its namespace and its name among replicas. Files and environment only; asks no API server."""

import os
from collections.abc import Mapping
from pathlib import Path

from .config import ACCOUNT


def namespace(environ: Mapping[str, str] = os.environ, account: Path = ACCOUNT) -> str:
    """The namespace of this process: `POD_NAMESPACE`, in a pod else the service account's file; empty outside a cluster."""
    named = environ.get("POD_NAMESPACE", "").strip()
    if named or not environ.get("KUBERNETES_SERVICE_HOST"):  # the kubelet gives every pod this variable, as load_config expects
        return named
    try:
        return (account / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def replica_name(environ: Mapping[str, str] = os.environ) -> str:
    """The name of this replica: `POD_NAME`, else the host's name, which in a pod is the same."""
    return environ.get("POD_NAME", "").strip() or os.uname().nodename
