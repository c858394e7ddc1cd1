"""The PodSnapshot that a component names since line 1.5. Another operator makes it; it is read alone, and never owned.

Known of it are its name and the container in `spec.source.podRef.containers`, but not its status, nor how pods are restored from it.
"""

from __future__ import annotations

from typing import Final

from ...kube.errors import ForbiddenError, NotServedError
from ...kube.protocol import Node
from ...kube.resources import Resource
from ..common.keys import key_of
from ..engine.switches import SWITCHES
from ..engine.work import Work
from ..render.checkpoint.restore import targets_of
from ..render.without_effect import explain_cold_start
from .restore_condition import MISSING, RestoreState

POD_SNAPSHOTS: Final = Resource("nvidia.com", "v1alpha1", "podsnapshots", "PodSnapshot")
_UNAVAILABLE: Final = "RestoreUnavailable"


async def read_pod_snapshot(work: Work, obj: Node, wanted: Node, *, enabled: bool) -> RestoreState:
    """What is said of a component with a checkpoint; its pods start cold. Costs at most one read. Raises: ApiError."""
    name, why = str(wanted.get("checkpointRef") or ""), explain_cold_start(wanted)
    if not enabled:
        return RestoreState("RestoreOff", "checkpoint.enabled is false in the configuration; pods start cold")
    if not name:
        return RestoreState(_UNAVAILABLE, why)
    try:
        found = await work.cluster.get(POD_SNAPSHOTS, name, key_of(obj).namespace)
    except NotServedError:
        return RestoreState(MISSING, "the cluster serves no PodSnapshots: the Snapshot operator is not installed; pods start cold")
    except ForbiddenError as error:
        text = f"the reconciler lacks a permission: {error.message}; pods start cold; {SWITCHES['DynamoCheckpoint'].grant}"
        return RestoreState("Forbidden", text)
    if found is None:
        return RestoreState(MISSING, f"PodSnapshot {name} is not there; pods start cold")
    return RestoreState(_UNAVAILABLE, _explain_other(found, targets_of(obj["spec"])) or f"PodSnapshot {name} is there: {why}")


def _explain_other(snapshot: Node, targets: list[str]) -> str:
    """Why a snapshot is of another container; empty where it is of that which would be restored, or doesn't say."""
    reference = ((snapshot.get("spec") or {}).get("source") or {}).get("podRef") or {}
    said = reference.get("containers")
    taken = [str(one) for one in said] if isinstance(said, list) else []
    if not taken or taken == targets:
        return ""
    what = f"PodSnapshot {snapshot['metadata']['name']} is of container {', '.join(taken)[:200]}"
    return f"{what}, the component restores {', '.join(targets)}; pods start cold"
