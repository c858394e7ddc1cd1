"""The SSH key pairs of MPI's processes: one for the installation that is copied, or one for each graph."""

import base64
import contextlib
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from ...kube.errors import AlreadyExistsError, ApiError, ForbiddenError, lacks_permission
from ...kube.protocol import Cluster, Node
from ...kube.resources import SECRETS
from ...policies.frameworks import TRTLLM
from ..common.keys import is_controlled, uid_of
from ..common.problems import Problem, explain_missing_permission, problem_of_error
from ..engine.context import Context
from ..render.graph import Graph
from ..render.multinode.trtllm import PRIVATE, PUBLIC

_KEY_BITS: Final = 2048
_MAX_PAIR_BYTES: Final = 20_000  # of both keys; of RSA with 16,384 bits it has 13,000


async def ensure_ssh_keys(context: Context, keyed: set[str], graph: Graph, rendered: Sequence[Node], problems: list[Problem]) -> None:
    """Creates the rendered Secrets, those of an installation with the same keys. Existing ones are never changed.

    Only TensorRT-LLM's pods read them: other graphs need neither them nor the permission. Costs a call for each Secret.
    `keyed` has the uids of graphs whose own Secret was made, though it may not be read.
    """
    if not rendered or graph.framework != TRTLLM:
        return
    if context.settings.secrets.key_per_graph:
        await _give_own(context, keyed, graph, rendered[0], problems)
        return
    home = context.settings.mpi.ssh_secret_namespace or graph.namespace
    keys: Node | None = None
    for secret in sorted(rendered, key=lambda child: child["metadata"]["namespace"] != home):
        where = secret["metadata"]["namespace"]
        try:
            there = await context.cluster.get(SECRETS, secret["metadata"]["name"], where)
            if there is None:
                context.writer.check_may_write(graph.object)
                # a new key takes some tenths of a second, once for an installation
                data = keys or _pair(generate_private_key(65537, _KEY_BITS), PrivateFormat.TraditionalOpenSSL)
                there = await _create_secret(context.cluster, {**secret, "data": data}, where)
        except ApiError as error:
            problems.append(_problem(error, f"Secret {secret['metadata']['name']} in {where}"))
            return
        problems += _mismatch(secret, there.get("data"), keys, home)
        keys = keys or there.get("data")


async def _give_own(context: Context, keyed: set[str], graph: Graph, secret: Node, problems: list[Problem]) -> None:
    """Creates the Secret of one graph. Where it may not be read it is made once in the life of this process."""
    name, uid = secret["metadata"]["name"], uid_of(graph.object)
    try:
        try:
            there = await context.cluster.get(SECRETS, name, graph.namespace)
        except ForbiddenError:
            if uid in keyed:
                return
            there = None
        if there is None:
            context.writer.check_may_write(graph.object)
            with contextlib.suppress(AlreadyExistsError):  # made before this process began, by this reconciler as far as it may know
                data = _pair(Ed25519PrivateKey.generate(), PrivateFormat.OpenSSH)
                there = await context.cluster.create(SECRETS, {**secret, "data": data}, graph.namespace)
        keyed.add(uid)
    except ApiError as error:
        problems.append(_problem(error, f"Secret {name} in {graph.namespace}"))
        return
    if there is not None and not is_controlled(there, graph.object):
        text = f"Secret {name} was created by another client, and is left alone; rename or remove it, and the graph gets keys of its own"
        problems.append(Problem(text, "already_exists"))


def _problem(error: ApiError, what: str) -> Problem:
    problem = problem_of_error(error, what)
    return (
        problem._replace(text=f"{problem.text}; {explain_missing_permission('mpi-keys', 'mpiKeys')}")
        if lacks_permission(error)
        else problem
    )


async def _create_secret(cluster: Cluster, secret: Node, where: str) -> Node:
    """Create it, or read the one created meanwhile."""
    try:
        return await cluster.create(SECRETS, secret, where)
    except AlreadyExistsError:
        existing = await cluster.get(SECRETS, secret["metadata"]["name"], where)
        if existing is None:
            raise
        return existing


def _mismatch(secret: Node, data: Node | None, keys: Node | None, home: str) -> list[Problem]:
    """List what makes existing keys invalid, without their values."""
    what = f"Secret {secret['metadata']['name']} in {secret['metadata']['namespace']}"
    if not _fits(data or {}):
        return [Problem(f"{what}: {PUBLIC} must be the public key of {PRIVATE}; delete the Secret, and it is made anew", "validation")]
    if keys is not None and data != keys:
        return [Problem(f"{what}: must hold the keys of the one in {home}; delete it, and it is copied anew", "validation")]
    return []


def _fits(data: Node) -> bool:
    """Whether a pair belongs together; a private key that can't be read here is taken as it is."""
    try:
        private, public = (base64.b64decode(str(data.get(name) or ""), validate=True) for name in (PRIVATE, PUBLIC))
        if not private or not public or len(private) + len(public) > _MAX_PAIR_BYTES:
            return False
        load = load_ssh_private_key if b"OPENSSH" in private[:60] else load_pem_private_key
        key = load(private, None, unsafe_skip_rsa_key_validation=True)
        mine = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    except UnsupportedAlgorithm:
        return True
    except (ValueError, TypeError):
        return False
    return mine.split()[:2] == public.split()[:2]


def _pair(key: Ed25519PrivateKey | RSAPrivateKey, form: PrivateFormat) -> dict[str, str]:
    """A pair as in a Secret."""
    private, public = key.private_bytes(Encoding.PEM, form, NoEncryption()), key.public_key()
    data = {PRIVATE: private, PUBLIC: public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)}
    return {name: base64.b64encode(value).decode() for name, value in data.items()}
