"""One pass over a graph; and the SSH key pairs of MPI's processes: one for the installation that is copied, or one for each graph."""

import base64
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

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

from ...api.line import Line
from ...kube.errors import AlreadyExistsError, ApiError, ForbiddenError, InvalidError
from ...kube.protocol import Cluster, Node
from ...kube.resources import SECRETS
from ...policies.domain import COMPONENTS as COMPONENTS_PROVIDER
from ...policies.domain import GROVE
from ..checkpoint.restoring import publish_offers, say_standing, write_choices
from ..common.keys import is_controlled, key_of, uid_of
from ..common.problems import (
    RETRY_SLOW,
    RETRY_SOON,
    PassResult,
    Problem,
    Refusal,
    explain_missing_permission,
    first_of,
    lacks_right,
    problem_of_error,
)
from ..common.resources import ADAPTER, CHECKPOINT, CLIQUES, COMPONENTS, GRAPHS, MANAGER, SECRET, WORKER_DIGEST
from ..engine.work import Work
from ..render.framework import TRTLLM
from ..render.graph import Graph, start_waiting
from ..render.multinode.trtllm import PRIVATE, PUBLIC
from ..render.names import CURRENT_HASH, PLANNER_ACCOUNT, WORKLOAD_PROVIDER, component_name
from ..workload.orchestrator import finish_switch, is_switching
from ..workload.pods import add_pod_reasons, find_used_permissions
from ..workload.prerequisites import check_claims, check_scheduler
from .clique_set import put_cliques
from .clique_status import OnGrove, list_below, read_grove_status
from .decide import Plan, decide
from .ended_pods import replace_ended_pods
from .generations import Roll
from .observe import Seen, components_of, observe
from .report import FAILED, REFUSED, list_events, make_refused_status, report, unreachable_status
from .scaling_adapter import prepare_adapter
from .snapshots import is_claim_template, is_optional, list_checkpoints, put_claim_template, sync_owners

PODS_SECONDS: Final = 5.0  # until the next look whether pods that use a permission have ended


class Result(NamedTuple):
    """The state after the writes of one pass."""

    problems: Sequence[Problem] = ()
    without: Sequence[Problem] = ()  # missing permissions for checkpoints, without which the graph runs
    grove: OnGrove | None = None  # the state on Grove
    components: Sequence[Any] = ()  # objects of components, of all generations
    checkpoints: Mapping[str, Any] = {}  # by component
    after: float = 0.0  # seconds until the next pass


async def reconcile_graph(work: Work, obj: Node) -> PassResult:
    """Bring a graph one step nearer to its spec. Raises: ApiError, StandDownError."""
    if await work.let_go_deleted(obj):
        return PassResult()
    seen = await observe(work, obj)
    if isinstance(seen, Refusal):
        return await _refuse(work, obj, seen)
    plan = decide(seen)
    if isinstance(plan, Refusal):
        return await _refuse(work, obj, plan)
    return await _act(work, seen, plan)


async def _act(work: Work, seen: Seen, plan: Plan) -> PassResult:
    """Make the changes of a plan and report them. Raises: ApiError, StandDownError."""
    obj = seen.graph.object
    again = await _adopt(work, seen)
    result = await _write_children(work, seen, plan)
    await work.report_repairs(obj)
    problems = tuple(result.problems)
    if any(problem.passing for problem in problems) and not work.lasts(key_of(obj)):
        return PassResult(problems)  # retried at once, and not reported yet
    status, look = report(seen, plan, result, work.now()), 0.0
    if status["state"] == "pending":
        status, look = await add_pod_reasons(work, obj, status)
    await _write_status(work, obj, status, plan.roll)
    if problems:
        return PassResult(problems, RETRY_SOON if _lost_grove(work, seen, result) else RETRY_SLOW)
    if not seen.waits:
        return PassResult((), first_of(result.after, look, again))
    if is_switching(work.cache.get(key_of(obj)) or {}):  # as stored, from which the next process continues
        await finish_switch(work, seen.orchestrator)
    return PassResult((), RETRY_SOON)


async def _adopt(work: Work, seen: Seen) -> float:
    """Record where a graph of an older operator runs; the seconds until the next attempt, or 0. Raises: ApiError, StandDownError."""
    graph, way = seen.graph, seen.orchestrator
    if seen.settings.line < Line.V1_5 or WORKLOAD_PROVIDER in graph.annotations or not way.runs or way.moving:
        return 0.0
    provider = GROVE if way.grove else COMPONENTS_PROVIDER
    try:
        await work.patch_metadata(graph.object, {"uid": uid_of(graph.object), "annotations": {WORKLOAD_PROVIDER: provider}})
    except (ForbiddenError, InvalidError) as error:
        await work.say(graph.object, "Warning", "NotAdopted", f"{WORKLOAD_PROVIDER} can't be set: {error.message}", lasting=True)
        return RETRY_SLOW
    await work.say(graph.object, "Normal", "Adopted", f'{WORKLOAD_PROVIDER} is "{provider}", where the graph runs')
    return 0.0


def _lost_grove(work: Work, seen: Seen, result: Result) -> bool:
    """Whether Grove, which was served, no longer is: the watch of its sets is about to tell."""
    unserved = seen.orchestrator.grove and result.grove is None and work.cache.knows(CLIQUES)
    return unserved and any(problem.category == "not_found" for problem in result.problems)


async def _write_children(work: Work, seen: Seen, plan: Plan) -> Result:
    graph, problems, optional = seen.graph, [*plan.problems], list[Problem]()
    grove, after, again = None, 0.0, 0.0
    if plan.digest:
        await _note_digest(work, graph, plan)
    snapshots = seen.snapshots
    await write_choices(work, graph.object, snapshots.choices.values())
    offers = {component_name(graph.name, name): (one.checkpoint, one.offer) for name, one in snapshots.choices.items()}
    await publish_offers(work, graph.namespace, offers)
    await sync_owners(work, graph, plan.owners, optional)
    await check_claims(work, graph, problems)
    await check_scheduler(work, plan.rendered, problems)
    await ensure_ssh_keys(work, graph, [child for child in plan.rendered if child["kind"] == SECRET], problems)
    for child in plan.applied:
        live = await _put(work, start_waiting(graph, plan.observed.waits), child, optional if child["kind"] == CHECKPOINT else problems)
        if child["kind"] == CLIQUES and live is not None:
            below = list_below(work.cache, live)
            grove = read_grove_status(start_waiting(graph), live, below, seen.settings.line)
            ended, again = await replace_ended_pods(work, graph.object, below, problems)
            grove = grove._replace(waits={**grove.waits, **ended})
    for child in filter(is_claim_template, plan.rendered):
        await put_claim_template(work, child, optional)
    problems += [problem for problem in optional if not is_optional(problem)]
    if not problems and not seen.waits:
        after = await _remove_old(work, graph.object, plan, problems)
    without = [problem for problem in optional if is_optional(problem)]
    checkpoints = list_checkpoints(work, graph, snapshots.wanted, seen.settings)
    looks = (one.after for one in snapshots.choices.values())
    return Result(problems, without, grove, components_of(work, graph.object), checkpoints, first_of(after, again, *looks))


async def _put(work: Work, graph: Graph, child: Node, problems: list[Problem]) -> Node | None:
    """Apply one child. Missing permissions of a planner's account don't stop the graph."""
    owner = graph.object if child["metadata"].get("ownerReferences") else None
    if child["kind"] == CLIQUES:
        return await put_cliques(work, graph, child, problems)
    if child["kind"] in ("ServiceAccount", "RoleBinding") and child["metadata"]["name"] in (PLANNER_ACCOUNT, f"{PLANNER_ACCOUNT}-binding"):
        warnings: list[Problem] = []
        live = await work.put(child, owner, warnings)
        for problem in warnings:
            await work.say(graph.object, "Warning", "PlannerRights", problem.text)
        return live
    if child["kind"] == ADAPTER:
        child = prepare_adapter(child, work.cache)
    return await work.put(child, owner, problems, lambda uid: uid in map(uid_of, components_of(work, graph.object)))


async def _remove_old(work: Work, obj: Node, plan: Plan, problems: list[Problem]) -> float:
    """Shrink and delete older generations, which need their children until then, and prune; the seconds until the next pass."""
    roll = plan.roll
    try:
        for component, replicas in roll.resized:
            await work.merge(component, COMPONENTS, key_of(component).name, {"spec": {"replicas": replicas}})
        for component in roll.retired:
            await work.writer.drop(component)
        if roll.rolling and not roll.retired:
            return 0.0
        used = await find_used_permissions(work, obj, plan.wanted)
        await work.prune(obj, plan.wanted, roll.old | used | plan.kept)
    except ApiError as error:
        problems.append(problem_of_error(error, "what is not asked for any more"))
        return 0.0
    return PODS_SECONDS if used else 0.0


async def _note_digest(work: Work, graph: Graph, plan: Plan) -> None:
    """Record our digest of a generation that is named otherwise, by which later changes of the workers are found."""
    work.ask(graph.object)
    patch: Node = {"apiVersion": graph.object["apiVersion"], "kind": graph.object["kind"]}
    patch["metadata"] = {
        "name": graph.name,
        "namespace": graph.namespace,
        "annotations": {CURRENT_HASH: plan.roll.name, WORKER_DIGEST: plan.digest},
    }
    work.cache.wrote(await work.cluster.apply(GRAPHS, patch, manager=MANAGER, force=True))
    await work.say(graph.object, "Normal", "WorkerHashMigrated", f"workers keep the generation {plan.observed.worker_hash}")


async def _refuse(work: Work, obj: Node, refusal: Refusal) -> PassResult:
    """Report in the status why a graph is left unchanged. Raises: ApiError, StandDownError."""
    before, generation = obj.get("status") or {}, obj["metadata"].get("generation")
    if refusal.reason == REFUSED:
        if await work.patch_status(obj, make_refused_status(before, generation, refusal.message, work.now())):
            await work.say(obj, "Warning", "ValidationFailed", refusal.message)
        return PassResult((Problem(refusal.message, "validation"),), refusal.after)
    if refusal.reason:
        await _write_status(work, obj, unreachable_status(before, generation, refusal, work.now()), Roll(""))
    return PassResult((), refusal.after)


async def report_failed_pass(work: Work, obj: Node, problem: Problem) -> PassResult:
    """Report the failed call that ended a pass. Raises: ApiError, StandDownError."""
    status = make_refused_status(obj.get("status") or {}, obj["metadata"].get("generation"), problem.text, work.now(), FAILED)
    await _write_status(work, obj, status, Roll(""))
    return PassResult((problem,), RETRY_SLOW)


async def _write_status(work: Work, obj: Node, status: Node, roll: Roll) -> None:
    """Write a graph's status, and Events about its changes. Raises: ApiError, StandDownError."""
    before = obj.get("status") or {}
    if not await work.patch_status(obj, status):
        return
    for event in list_events(before, status, roll):
        await work.say(obj, *event)
    await say_standing(work, obj, before, status)
    await work.report_ignored(obj, before, status)


_BITS: Final = 2048
_LONGEST: Final = 20_000  # characters of a key; of RSA with 16,384 bits it has 13,000


async def ensure_ssh_keys(work: Work, graph: Graph, rendered: Sequence[Node], problems: list[Problem]) -> None:
    """Creates the rendered Secrets, those of an installation with the same keys. Existing ones are never changed.

    Only TensorRT-LLM's pods read them: other graphs need neither them nor the permission. Costs a call for each Secret.
    """
    if not rendered or graph.framework != TRTLLM:
        return
    if work.settings.secrets.key_per_graph:
        await _give_own(work, graph, rendered[0], problems)
        return
    home = work.settings.mpi.ssh_secret_namespace or graph.namespace
    keys: Node | None = None
    for secret in sorted(rendered, key=lambda one: one["metadata"]["namespace"] != home):
        where = secret["metadata"]["namespace"]
        try:
            there = await work.cluster.get(SECRETS, secret["metadata"]["name"], where)
            if there is None:
                work.ask(graph.object)
                # a new key takes some tenths of a second, once for an installation
                data = keys or _pair(generate_private_key(65537, _BITS), PrivateFormat.TraditionalOpenSSL)
                there = await _made(work.cluster, {**secret, "data": data}, where)
        except ApiError as error:
            problems.append(_problem(error, f"Secret {secret['metadata']['name']} in {where}"))
            return
        problems += _mismatch(secret, there.get("data"), keys, home)
        keys = keys or there.get("data")


async def _give_own(work: Work, graph: Graph, secret: Node, problems: list[Problem]) -> None:
    """Creates the Secret of one graph. Where it may not be read it is made once in the life of this process."""
    name, uid = secret["metadata"]["name"], uid_of(graph.object)
    try:
        try:
            there = await work.cluster.get(SECRETS, name, graph.namespace)
        except ForbiddenError:
            if uid in work.keyed:
                return
            there = None
        if there is None:
            work.ask(graph.object)
            with contextlib.suppress(AlreadyExistsError):  # made before this process began, by us as far as we may know
                data = _pair(Ed25519PrivateKey.generate(), PrivateFormat.OpenSSH)
                there = await work.cluster.create(SECRETS, {**secret, "data": data}, graph.namespace)
        work.keyed.add(uid)
    except ApiError as error:
        problems.append(_problem(error, f"Secret {name} in {graph.namespace}"))
        return
    if there is not None and not is_controlled(there, graph.object):
        text = f"Secret {name} was made by somebody else, and is left alone; rename or remove it, and the graph gets keys of its own"
        problems.append(Problem(text, "already_exists"))


def _problem(error: ApiError, what: str) -> Problem:
    found = problem_of_error(error, what)
    return found._replace(text=f"{found.text}; {explain_missing_permission('mpi-keys', 'mpiKeys')}") if lacks_right(error) else found


async def _made(cluster: Cluster, secret: Node, where: str) -> Node:
    """Create it, or read the one created meanwhile."""
    try:
        return await cluster.create(SECRETS, secret, where)
    except AlreadyExistsError:
        found = await cluster.get(SECRETS, secret["metadata"]["name"], where)
        if found is None:
            raise
        return found


def _mismatch(secret: Node, data: Node | None, keys: Node | None, home: str) -> list[Problem]:
    """What is wrong with existing keys; none of their values is told."""
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
        if not private or not public or len(private) + len(public) > _LONGEST:
            return False
        load = load_ssh_private_key if b"OPENSSH" in private[:60] else load_pem_private_key
        found = load(private, None, unsafe_skip_rsa_key_validation=True)
        mine = found.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
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
