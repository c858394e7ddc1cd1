"""Installs by the commands of docs/install.md, and removes what was installed."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.cluster.install.test_up import BLOCKS, NAMESPACE
from tests.node.admin import Admin
from tests.node.cluster import Cluster

SERVER: Final = "app.kubernetes.io/component=server"  # the label of its pods
SELF_SIGNED: Final = "overlays/self-signed"
OWN: Final = "overlays/own"
# as docs/components.md adds components; LeaderWorkerSets are used without Volcano if the configuration says so
EVERYTHING: Final = """
mkdir manifests/overlays/own
cat > manifests/overlays/own/kustomization.yaml <<'EOF'
resources: [../self-signed]
components: [../../components/control-plane, ../../components/orchestrators, ../../components/requests]
EOF
cat >> manifests/base/config.yaml <<'EOF'
orchestrators: {lws: {enabled: true}}
EOF
sed -i 's/^certificates:$/&\\n  settle: 15s/' manifests/base/config.yaml  # not two minutes: there is one API server
"""
CREATE: Final = f"kubectl create namespace {NAMESPACE}\n"
REMOVE_OVERLAY: Final = f"kubectl delete -k manifests/{SELF_SIGNED}"
REMOVE_CHART: Final = f"helm uninstall dynamo-webhooks --namespace {NAMESPACE}"
_ENFORCE: Final = f"kubectl label namespace {NAMESPACE} pod-security.kubernetes.io/enforce=restricted\n"


def stand(cluster: Cluster, folder: Path, first: str = EVERYTHING, line: str = "") -> Admin:
    """Makes an overlay by the commands `first` and installs it, unless it stands on the machine already. It stays for other tests.

    `line` is the release of the definitions, if it isn't the default.
    """
    if first in cluster.standing:
        apply, wait = BLOCKS["install: kustomize"].replace(SELF_SIGNED, OWN).splitlines()[-2:]
        cluster.standing[first].run(f"{apply}\n{wait}")  # what a test has changed is again as it was
        return cluster.standing[first]
    clear(cluster)
    admin = cluster.standing[first] = Admin(cluster.plane, folder)
    _install(admin, OWN, first, line)
    return admin


def restart(admin: Admin, *names: str) -> None:
    """Replaces the pods of Deployments, by default of all, and waits for those that are new."""
    for verb in ("restart", "status"):
        admin.run(f"kubectl -n {NAMESPACE} rollout {verb} deployment {' '.join(names)}")


def clear(cluster: Cluster) -> None:
    """Removes what stands."""
    while cluster.standing:
        _, admin = cluster.standing.popitem()
        _remove(admin, REMOVE_OVERLAY.replace(SELF_SIGNED, OWN))


@contextlib.contextmanager
def installed(cluster: Cluster, folder: Path, overlay: str, first: str = "") -> Iterator[Admin]:
    """Installs an overlay until the end of the block, after the commands `first`."""
    with removed(Admin(cluster.plane, folder), REMOVE_OVERLAY.replace(SELF_SIGNED, overlay)) as admin:
        _install(admin, overlay, first)
        yield admin


def _install(admin: Admin, overlay: str, first: str, line: str = "") -> None:
    """Restricted pod security is enforced."""
    commands = BLOCKS["install: kustomize"].replace(SELF_SIGNED, overlay)
    if line:
        commands = commands.replace("crds --cluster", f"crds --cluster --line {line}")
    assert CREATE in commands
    admin.run(commands.replace(CREATE, CREATE + _ENFORCE + first))


@contextlib.contextmanager
def charted(cluster: Cluster, folder: Path) -> Iterator[Admin]:
    """Installs the chart until the end of the block."""
    with removed(Admin(cluster.plane, folder), REMOVE_CHART) as admin:
        admin.run(BLOCKS["install: helm"])
        yield admin


@contextlib.contextmanager
def removed(admin: Admin, command: str) -> Iterator[Admin]:
    """Removes everything at the end of the block, by the documented commands with this one, and the namespace."""
    try:
        yield admin
    finally:
        _remove(admin, command)


def _remove(admin: Admin, command: str) -> None:
    commands = BLOCKS["uninstall: remove everything"]
    assert REMOVE_OVERLAY in commands
    admin.run(commands.replace(REMOVE_OVERLAY, command))
    remove_namespace(admin, NAMESPACE)


def pids(command: str, namespace: str = NAMESPACE) -> list[int]:
    """The processes of containers in a namespace whose command line has the word."""
    numbers = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            words, variables = ((folder / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
            if command.encode() in words and f"POD_NAMESPACE={namespace}".encode() in variables:
                numbers.append(int(folder.name))
    return sorted(numbers)


def kill(command: str, namespace: str = NAMESPACE) -> None:
    """Kills them."""
    for pid in pids(command, namespace):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def remove_namespace(admin: Admin, name: str) -> None:
    """Removes a namespace, in which uninstalling has left nothing but what ends by itself."""
    # children of deleted graphs go when the garbage collector comes to them
    kinds = "serviceaccounts,roles,rolebindings,services,deployments"
    admin.run(f"kubectl -n {name} wait --for=delete {kinds} --selector webhooks.nvidia.com/reconciled=true --timeout=2m")
    left = admin.run(f"kubectl -n {name} get secrets,configmaps,leases,services,serviceaccounts,roles,rolebindings,deployments -o name")
    for command in ("serve", "provision", "reconcile"):  # servers go on until every API server knows that they end
        kill(command, name)
    admin.run(f"kubectl delete namespace {name}")
    assert left.splitlines() == ["configmap/kube-root-ca.crt", "serviceaccount/default"], f"uninstalling has left {left}"
