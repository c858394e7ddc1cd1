"""Names that the loop writes on objects so that it knows its own again. What children are called is render's business."""

from __future__ import annotations

from typing import Final

MANAGER: Final = "dynamo-webhooks-reconciler"  # the field manager of all writes, and the component of all Events
_OWN: Final = "webhooks.nvidia.com/"
APPLIED_HASH: Final = _OWN + "applied-hash"  # annotation of a child: digest of what was applied last
RECONCILED: Final = _OWN + "reconciled"  # label of children of other groups, by which they are watched
WORKER_DIGEST: Final = _OWN + "worker-digest"  # annotation of a graph whose workers keep a generation's name that another operator gave
FINALIZER: Final = "nvidia.com/finalizer"  # the Go operator's; we set none, since owner references collect everything
POD_ACCOUNT: Final = "nvidia.com/dynamo-component-pod"  # label of service accounts for pods that discover by etcd
