"""The storage of snapshots: the claim of the configuration, or the one that a namespace's agents mount."""

import posixpath
from collections.abc import Sequence
from typing import Final, NamedTuple

from ....api.operator.features import Pvc
from ....api.quantity import is_quantity, is_zero
from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..merge import object_items
from ..names import APP, MANAGED_BY, OPERATOR, PART
from ..objects import make_child
from ..settings import CheckpointSettings

VOLUME: Final = "checkpoint-storage"
AGENT: Final = "snapshot-agent"  # value of the agents' component label
_AGENT_VOLUME: Final = "checkpoints"
_MODES: Final = ("ReadWriteMany", "ReadWriteOnce")
_PVC: Final = "checkpoint.storage.pvc"


class Storage(NamedTuple):
    """A claim and the path at which it is mounted."""

    claim: str
    path: str
    configured: bool = True  # otherwise found at an agent


def find_configured_storage(settings: CheckpointSettings) -> Storage | None:
    """The storage of the configuration, None where it names none. Raises: RenderError naming a key that can't be used."""
    named = settings.pvc != Pvc()
    if settings.storage not in ("", "pvc") and (named or settings.storage not in ("s3", "oci")):
        raise RenderError((), f'checkpoint.storage.type "{settings.storage}" is not supported; only pvc is implemented today')
    if not named:
        return None
    claim, path = settings.pvc.pvc_name.strip(), settings.pvc.base_path.strip()
    if not claim or not path:
        raise RenderError((), f"{_PVC}.pvcName and {_PVC}.basePath are required when checkpoint storage is configured")
    if not path.startswith("/"):
        raise RenderError((), f'{_PVC}.basePath "{path}" must be absolute')
    return Storage(claim, "/" + posixpath.normpath(path).lstrip("/"))


def make_claims(settings: CheckpointSettings, namespace: str) -> list[Fields]:
    """The claim for a namespace's checkpoints, if the operator is to create it. Raises: RenderError naming a key that can't be used."""
    storage = find_configured_storage(settings)
    if storage is None or not settings.pvc.create:
        return []
    size, mode = settings.pvc.size.strip(), settings.pvc.access_mode or _MODES[0]
    if not size:
        raise RenderError((), f"{_PVC}.size is required when {_PVC}.create is true")
    if not is_quantity(size):
        raise RenderError((), f'{_PVC}.size "{size}" must be a quantity such as 100Gi')
    if is_zero(size) or size.startswith("-"):
        raise RenderError((), f'{_PVC}.size "{size}" must be greater than zero')
    if mode not in _MODES:
        raise RenderError((), f'{_PVC}.accessMode "{mode}" is not supported; expected "ReadWriteOnce" or "ReadWriteMany"')
    labels = {APP: "dynamo", PART: VOLUME, MANAGED_BY: OPERATOR}
    spec = {
        "accessModes": [mode],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": size}},
        **({"storageClassName": settings.pvc.storage_class_name} if settings.pvc.storage_class_name else {}),
    }
    return [make_child("v1", "PersistentVolumeClaim", storage.claim, namespace, labels=labels, spec=spec)]


def explain_missing(storage: Storage, namespace: str) -> str:
    """Explain that the configured claim isn't there and isn't to be created."""
    return f"checkpoint storage PVC {namespace}/{storage.claim} does not exist and checkpoint.storage.pvc.create is false"


def find_agent_storage(agents: Sequence[Fields], namespace: str) -> Storage:
    """The storage of the first agent, a DaemonSet of the namespace, that mounts a claim. Raises: RenderError if none does."""
    for agent in agents:
        pod = ((agent.get("spec") or {}).get("template") or {}).get("spec") or {}
        volumes = [volume for volume in object_items(pod.get("volumes")) if volume.get("name") == _AGENT_VOLUME]
        claim = str(((volumes[0].get("persistentVolumeClaim") or {}) if volumes else {}).get("claimName") or "")
        containers = [container for container in object_items(pod.get("containers")) if container.get("name") == "agent"]
        mounts = [mount for each in containers for mount in object_items(each.get("volumeMounts")) if mount.get("name") == _AGENT_VOLUME]
        path = str(mounts[0].get("mountPath") or "").rstrip("/") if mounts else ""
        if claim and path:
            return Storage(claim, path, configured=False)
    if not agents:
        raise RenderError((), f"no snapshot-agent daemonset found in namespace {namespace}")
    names = ", ".join(str(daemon_set["metadata"]["name"]) for daemon_set in agents)[:200]
    raise RenderError((), f"snapshot-agent daemonset in {namespace} does not mount a PVC-backed checkpoint volume ({names})")
