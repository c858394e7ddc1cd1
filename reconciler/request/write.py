"""What passes over deployment requests write: notes, the Job with what belongs to it, the graph. Whether, is decided elsewhere."""

from collections.abc import Iterable
from typing import Any, Final

from ...api.operator.configuration import OperatorConfiguration
from ...kube.errors import AlreadyExistsError, ForbiddenError, InvalidError
from ...kube.protocol import Node
from ...kube.resources import CONFIG_MAPS, JOBS
from ..common.keys import controller_reference, is_controlled, key_of, uid_of
from ..common.problems import TakenError
from ..common.resources import GRAPHS, GRAPHS_ALPHA, REQUEST_NAME, REQUESTS
from ..engine.work import Work
from ..engine.write import mark_applied
from ..render.objects import reference
from .annotations import digest_of, hardware_of, read_progress, read_requested_hardware
from .job import render_job, render_output, render_rights
from .names import JOB_NAME, MANAGED, OURS, PROGRESS, SPEC_KEY, job_of, output_of
from .result import Result, prepare_graph

SPEC_DIGEST: Final = OURS + "spec-digest"  # annotation of a Job: the spec that it profiles


async def note(work: Work, request: Node, annotations: dict[str, str | None], **notes: Any) -> Node:
    """Keeps notes and annotations on a request; gives it as it is then. Raises: ApiError, StandDownError."""
    before = request["metadata"].get("annotations") or {}
    wanted = {**annotations, PROGRESS: read_progress(request)._replace(**notes).text()}
    news = {name: text for name, text in wanted.items() if before.get(name) != text}
    if not news:
        return request
    return await work.merge(request, REQUESTS, key_of(request).name, {"metadata": {"annotations": news}})


async def write_hardware(work: Work, request: Node, hardware: Node) -> Node:
    """Writes what was found into the spec, as the Go operator does. Raises: ApiError, StandDownError."""
    if (request["spec"].get("hardware") or {}) == hardware:
        return request
    patch = {"metadata": {"resourceVersion": request["metadata"]["resourceVersion"]}, "spec": {"hardware": hardware}}
    return await work.merge(request, REQUESTS, key_of(request).name, patch)


async def begin(work: Work, request: Node, settings: OperatorConfiguration) -> None:
    """Makes the Job and before it what its pod needs, unless they are there. Raises: ApiError, StandDownError, TakenError."""
    hardware = {**hardware_of(request), **read_requested_hardware(request)}
    wanted = mark_applied(render_job(request, hardware, settings))
    wanted["metadata"]["annotations"][SPEC_DIGEST] = digest_of(request.get("spec"))
    live = await live_job(work, request)
    if live is not None and _is_current(live, request):
        return
    if live is not None:
        await _drop_job(work, request, live)
    account = str(wanted["spec"]["template"]["spec"]["serviceAccountName"])
    for child in render_rights(request, account):
        await work.writer.put(child, request)
    await _put_output(work, request, render_output(request, hardware))
    work.ask(request)
    try:
        work.cache.wrote(await work.cluster.create(JOBS, wanted, wanted["metadata"]["namespace"]))
    except AlreadyExistsError:
        await live_job(work, request)  # somebody else's is told; ours was made in this moment


async def live_job(work: Work, request: Node) -> Node | None:
    """The Job of a request as it is now. Raises: ApiError, TakenError."""
    name = job_of(request)
    live = await work.cluster.get(JOBS, name, key_of(request).namespace)
    if live is not None and _is_foreign(live, request):
        raise TakenError(f"Job {name} belongs to somebody else, and is left alone; rename or remove it")
    return live


async def drop_job(work: Work, request: Node) -> None:
    """Deletes the Job of a request that starts again. Raises: ApiError, StandDownError, TakenError."""
    if (live := await live_job(work, request)) is not None:
        await _drop_job(work, request, live)


async def output_data(work: Work, request: Node) -> Node | None:
    """What the profiler has written so far; None where its ConfigMap is gone. Raises: ApiError."""
    live = await work.cluster.get(CONFIG_MAPS, output_of(request), key_of(request).namespace)
    return None if live is None or _is_foreign(live, request) else live.get("data") or {}


async def make_graph(work: Work, request: Node, result: Result) -> Node:
    """Creates the graph. Raises: ApiError, StandDownError."""
    wanted = prepare_graph(request, result.graph)
    beta = wanted["apiVersion"] == GRAPHS.api_version
    work.ask(request)
    made = await work.cluster.create(GRAPHS if beta else GRAPHS_ALPHA, wanted, wanted["metadata"]["namespace"])
    if beta:
        work.cache.wrote(made)
    return made


async def make_config_maps(work: Work, request: Node, wanted: Iterable[Node], graph: Node | None = None) -> None:
    """Creates what a graph's pods mount, or gives it to the graph; one of another name's owner is told of.

    Without a graph they have no owner yet: whichever operator makes the graph finds them. Raises: ApiError, StandDownError.
    """
    owner = reference({**graph, "apiVersion": GRAPHS.api_version}) if graph is not None else None
    for one in wanted:
        metadata = one["metadata"]
        work.ask(request)
        owned = {**one, "metadata": {**metadata, "ownerReferences": [owner]}} if owner is not None else one
        try:
            await work.cluster.create(CONFIG_MAPS, owned, metadata["namespace"])
        except AlreadyExistsError:
            if owner is not None:
                await _adopt(work, request, one, owner)
        except (ForbiddenError, InvalidError) as error:
            if not is_refusal(error):
                raise
            await work.say(request, "Warning", "ConfigMapCreationFailed", f"ConfigMap {metadata['name'][:253]}: {error.message}")


def is_refusal(error: ForbiddenError | InvalidError) -> bool:
    """Whether an object itself was refused for good, by its schema or by a webhook; a missing permission may be granted."""
    return isinstance(error, InvalidError) or "admission webhook" in error.message


async def drop_config_maps(work: Work, request: Node, unwanted: Iterable[Node]) -> None:
    """Deletes them where no graph will own them; others' stay. Costs 20 reads and deletions at most. Raises: ApiError, StandDownError."""
    for one in unwanted:
        name, namespace = one["metadata"]["name"], one["metadata"]["namespace"]
        live = await work.cluster.get(CONFIG_MAPS, name, namespace)
        if live is not None and controller_reference(live) is None and _is_labelled(live, request):
            work.ask(request)
            await work.cluster.delete(CONFIG_MAPS, name, namespace, uid=uid_of(live))


async def _adopt(work: Work, request: Node, wanted: Node, owner: Node) -> None:
    name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
    live = await work.cluster.get(CONFIG_MAPS, name, namespace)
    if live is None:
        return
    found = controller_reference(live)
    if not _is_labelled(live, request) or (found is not None and found.get("uid") != owner.get("uid")):
        await work.say(request, "Warning", "ConfigMapCreationFailed", f"ConfigMap {name} is somebody else's, and is left alone")
        return
    if found is None:
        patch = {
            "metadata": {"ownerReferences": [owner], "resourceVersion": live["metadata"]["resourceVersion"]},
            "data": wanted.get("data"),
        }
        await work.cluster.merge_patch(CONFIG_MAPS, name, patch, namespace)


def _is_labelled(live: Node, request: Node) -> bool:
    labels = live["metadata"].get("labels") or {}
    return request["metadata"]["name"] in (labels.get(REQUEST_NAME), labels.get(JOB_NAME)) and bool(labels.get(MANAGED))


async def _put_output(work: Work, request: Node, wanted: Node) -> None:
    """An empty ConfigMap for the result: what an earlier Job has written must not be read again."""
    name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
    live = await work.cluster.get(CONFIG_MAPS, name, namespace)
    if live is not None and _is_foreign(live, request):
        raise TakenError(f"ConfigMap {name} belongs to somebody else, and is left alone; rename or remove it")
    if live is not None and set(live.get("data") or ()) <= {SPEC_KEY} and (live.get("data") or {}) == wanted.get("data", {}):
        return
    work.ask(request)
    if live is not None:
        await work.cluster.delete(CONFIG_MAPS, name, namespace, uid=uid_of(live))
    await work.cluster.create(CONFIG_MAPS, wanted, namespace)


async def _drop_job(work: Work, request: Node, live: Node) -> None:
    work.ask(request)
    await work.cluster.delete(JOBS, live["metadata"]["name"], live["metadata"]["namespace"], uid=uid_of(live))
    work.cache.removed(key_of({**live, "kind": JOBS.kind}))


def _is_current(live: Node, request: Node) -> bool:
    """Whether a Job profiles the request as it is; one of the Go operator doesn't say."""
    said = (live["metadata"].get("annotations") or {}).get(SPEC_DIGEST)
    return said in (None, digest_of(request.get("spec"))) and not live["metadata"].get("deletionTimestamp")


def _is_foreign(live: Node, request: Node) -> bool:
    """Whether an object of the wanted name is somebody else's. Without an owner, as a backup restores it, labels tell."""
    return not (is_controlled(live, request) or (controller_reference(live) is None and _is_labelled(live, request)))
