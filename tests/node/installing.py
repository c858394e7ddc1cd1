"""Installs by the commands of docs/install.md, and removes what was installed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.cluster.install.test_up import BLOCKS, NAMESPACE
from tests.node.admin import Admin
from tests.node.cluster import Cluster

SELF_SIGNED: Final = "overlays/self-signed"
_CREATE: Final = f"kubectl create namespace {NAMESPACE}\n"
_ENFORCE: Final = f"kubectl label namespace {NAMESPACE} pod-security.kubernetes.io/enforce=restricted\n"
_REMOVE: Final = f"kubectl delete namespace {NAMESPACE} --ignore-not-found\n"


@contextlib.contextmanager
def installed(cluster: Cluster, folder: Path, overlay: str = SELF_SIGNED, first: str = "") -> Iterator[Admin]:
    """Installs an overlay until the end of the block, after the commands `first`, where restricted pod security is enforced."""
    admin = Admin(cluster.plane, folder)
    commands, uninstall = (BLOCKS[name].replace(SELF_SIGNED, overlay) for name in ("install: kustomize", "uninstall: remove everything"))
    assert _CREATE in commands
    try:
        admin.run(commands.replace(_CREATE, _CREATE + _ENFORCE + first))
        yield admin
    finally:
        admin.run(uninstall + _REMOVE)


@contextlib.contextmanager
def charted(cluster: Cluster, folder: Path) -> Iterator[Admin]:
    """Installs the chart until the end of the block."""
    admin = Admin(cluster.plane, folder)
    uninstall = f"helm uninstall dynamo-webhooks --namespace {NAMESPACE}"
    try:
        admin.run(BLOCKS["install: helm"])
        yield admin
    finally:
        admin.run(BLOCKS["uninstall: remove everything"].replace(f"kubectl delete -k manifests/{SELF_SIGNED}", uninstall) + _REMOVE)
