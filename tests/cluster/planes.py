"""Control planes that are lent to one block after the other, empty each time: starting one costs more than most tests on it.

What a block leaves is removed below the API server, in etcd, which takes no controllers, no finalizers and no webhook that may be gone.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from tests.cluster import etcd
from tests.cluster.harness import ControlPlane, control_plane, controllers
from tests.cluster.processes import StartError, wait_until

Node: TypeAlias = dict[str, Any]
# what the API server makes a moment after it is ready, and would make again only after a minute
_SYSTEM: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_POLICIES: Final = "/registry/validatingadmissionpolic"
_MINUTE: Final = 60.0
_SENTINEL: Final = "planes-sentinel"


@dataclass
class _Kept:
    """A control plane and what etcd held when it was new."""

    plane: ControlPlane
    processes: contextlib.ExitStack
    new: dict[str, bytes]
    groups: set[str]
    had_policies: bool = False


class Planes:
    """Those of one process. The programs are in `assets`; logs and data come below `home`."""

    def __init__(self, assets: Path, home: Path) -> None:
        self.assets = assets
        self._home = home
        self._idle: list[_Kept] = []
        self._numbers = count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._idle:
            self._idle.pop().processes.close()

    @contextlib.contextmanager
    def lend(self, *flags: str, managed: bool = False) -> Iterator[ControlPlane]:
        """An empty one until the end of the block, `managed` by Kubernetes' own controllers.

        One with further flags of kube-apiserver is started for this block alone.
        """
        with self._started(*flags) if flags else self._empty() as plane, contextlib.ExitStack() as stack:
            if managed:
                stack.enter_context(controllers(plane))
            yield plane

    @contextlib.contextmanager
    def _started(self, *flags: str) -> Iterator[ControlPlane]:
        with control_plane(self.assets, self._home / f"plane-{next(self._numbers)}", *flags) as plane:
            yield plane

    @contextlib.contextmanager
    def _empty(self) -> Iterator[ControlPlane]:
        kept = self._emptied() or self._new()
        try:
            yield kept.plane
            _remove(kept)
        except BaseException:
            kept.processes.close()  # nobody knows what state it is in
            raise
        if self._idle:
            kept.processes.close()  # two at once are rare
        else:
            self._idle.append(kept)

    def _emptied(self) -> _Kept | None:
        """The idle one, unless the API server still serves or forbids something after a minute, when a new one serves better."""
        if not self._idle:
            return None
        kept = self._idle.pop()
        try:
            _wait_until_empty(kept)
        except StartError as late:
            print(f"a control plane is replaced: {late}")
            kept.processes.close()
            return None
        return kept

    def _new(self) -> _Kept:
        with contextlib.ExitStack() as stack:
            plane = stack.enter_context(self._started())
            for name in _SYSTEM:
                wait_until(lambda name=name: plane.request("GET", f"/api/v1/namespaces/{name}").status == 200, name, plane.server)  # type: ignore[misc]
            wait_until(lambda: plane.request("GET", "/api/v1/namespaces/default/services/kubernetes").status == 200, "it", plane.server)
            return _Kept(plane, stack.pop_all(), dict(etcd.contents(plane)), _groups(plane))


def _groups(plane: ControlPlane) -> set[str]:
    return {each["name"] for each in plane.request("GET", "/apis").body["groups"]}


def _remove(kept: _Kept) -> None:
    """Gives etcd what it held when the control plane was new."""
    now = dict(etcd.contents(kept.plane))
    kept.had_policies = any(key.startswith(_POLICIES) for key in now)
    etcd.replace(kept.plane, now, kept.new)
    shutil.rmtree(kept.plane.home / ".kube", ignore_errors=True)  # what kubectl and helm have learned of its kinds


def _wait_until_empty(kept: _Kept) -> None:
    """Waits until the API server has seen that everything is gone."""
    plane = kept.plane
    wait_until(lambda: plane.request("GET", _DEFINITIONS).body["items"] == [], "no definition being left", plane.server, patience=_MINUTE)
    wait_until(lambda: _groups(plane) == kept.groups, "no kind of theirs being served", plane.server, patience=_MINUTE)
    if kept.had_policies:
        _wait_until_policies_are_forgotten(plane)


def _wait_until_policies_are_forgotten(plane: ControlPlane) -> None:
    """The API server takes over policies once a second, in their order: where a new one counts, the old ones don't."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"], "resourceNames": [_SENTINEL]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
    bound = {"policyName": _SENTINEL, "validationActions": ["Deny"]}
    metadata = {"name": _SENTINEL}
    for kind, content in (("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", bound)):
        plane.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": content})
    path, sent = "/api/v1/namespaces/default/configmaps?dryRun=All", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    wait_until(lambda: plane.request("POST", path, sent).status == 422, "a policy being in force", plane.server, patience=_MINUTE)
    for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        assert plane.request("DELETE", f"/apis/admissionregistration.k8s.io/v1/{plural}/{_SENTINEL}").status == 200
