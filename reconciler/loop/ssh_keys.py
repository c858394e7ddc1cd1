"""The SSH key pair of MPI's processes: made once for the installation, copied to graphs' namespaces."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from dynamo_webhooks.kube.errors import AlreadyExistsError, ApiError
from dynamo_webhooks.kube.resources import SECRETS
from dynamo_webhooks.reconciler.loop.problems import Problem, of_error
from dynamo_webhooks.reconciler.render.framework import TRTLLM
from dynamo_webhooks.reconciler.render.multinode.trtllm import PRIVATE, PUBLIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynamo_webhooks.kube.protocol import Cluster, Node
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.graph import Graph

_BITS: Final = 2048


async def give_keys(work: Work, graph: Graph, rendered: Sequence[Node], problems: list[Problem]) -> None:
    """Create the rendered Secrets with the same keys. Existing ones are never changed.

    Only TensorRT-LLM's pods read them: other graphs need neither them nor the permission.
    """
    if not rendered or graph.framework != TRTLLM:
        return
    home = work.settings.ssh_secret_namespace or graph.namespace
    keys: Node | None = None
    for secret in sorted(rendered, key=lambda one: one["metadata"]["namespace"] != home):
        where = secret["metadata"]["namespace"]
        try:
            there = await work.cluster.get(SECRETS, secret["metadata"]["name"], where)
            if there is None:
                work.ask(graph.object)
                there = await _made(work.cluster, {**secret, "data": keys or _pair()}, where)
        except ApiError as error:
            problems.append(of_error(error, f"Secret {secret['metadata']['name']} in {where}"))
            return
        keys = keys or there.get("data")


async def _made(cluster: Cluster, secret: Node, where: str) -> Node:
    """Create it, or read the one created meanwhile."""
    try:
        return await cluster.create(SECRETS, secret, where)
    except AlreadyExistsError:
        found = await cluster.get(SECRETS, secret["metadata"]["name"], where)
        if found is None:
            raise
        return found


def _pair() -> dict[str, str]:
    """A new pair as in a Secret; takes some tenths of a second, once for an installation."""
    key = generate_private_key(65537, _BITS)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return {name: base64.b64encode(data).decode() for name, data in ((PRIVATE, private), (PUBLIC, public))}
