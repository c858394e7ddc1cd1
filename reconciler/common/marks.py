"""Names that the loop writes on objects to recognise its own. Render names children."""

from typing import Final

REQUEST_NAME: Final = "dgdr.nvidia.com/name"


MANAGER: Final = "dynamo-webhooks-reconciler"  # field manager of all writes, component of all Events
_OWN: Final = "webhooks.nvidia.com/"
APPLIED_HASH: Final = _OWN + "applied-hash"  # annotation of a child: digest of the last apply
PODS_HASH: Final = _OWN + "pods-hash"  # annotation of what controls pods: digest of their templates, where pull secrets are found
PULL_SECRET: Final = _OWN + "pull-secret"  # label of Secrets that pods get by the registries of their images
RECONCILED: Final = _OWN + "reconciled"  # label of children of other groups, for watches
RETRY: Final = _OWN + "retry"  # annotation of what failed: each new value asks for another try
WORKER_DIGEST: Final = _OWN + "worker-digest"  # annotation of a graph whose workers keep a generation named by another operator
FINALIZER: Final = "nvidia.com/finalizer"  # the Go operator's; the reconciler sets none
POD_ACCOUNT: Final = "nvidia.com/dynamo-component-pod"  # label of service accounts for pods that discover by etcd
