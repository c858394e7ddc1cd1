"""Pull secrets of opted-in namespaces: which are read, what is kept of them, and when pods get another set. Values are dropped at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.operator.settings import LABELLED, NONE
from dynamo_webhooks.reconciler.loop.keys import key_of
from dynamo_webhooks.reconciler.loop.kinds import SECRET
from dynamo_webhooks.reconciler.loop.likeness import digest, says
from dynamo_webhooks.reconciler.loop.marks import APPLIED_HASH, PODS_HASH, PULL_SECRET
from dynamo_webhooks.reconciler.loop.problems import Problem
from dynamo_webhooks.reconciler.loop.work import PassResult
from dynamo_webhooks.reconciler.render.objects import annotated
from dynamo_webhooks.reconciler.render.pod.registries import DOCKER_CONFIG, DOCKER_FILE, MOST, addresses, index
from dynamo_webhooks.reconciler.render.pod.templates import templates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dynamo_webhooks.api.operator.settings import SecretSettings
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.cache import Cache
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.children import Rendered
    from dynamo_webhooks.reconciler.render.settings import Settings

GRANT: Final = "add the component overlays/pull-secrets with a RoleBinding in that namespace, or set reconciler.pullSecrets of the chart"
UNREADABLE: Final = "PullSecretUnreadable"
_ADDRESSES: Final = "addresses"  # what is kept of a Secret's data


def listen(cache: Cache, how: SecretSettings) -> None:
    """Has the Secrets read that the configuration opts into. With `none` no request for a Secret is made."""
    if how.pull == LABELLED:
        cache.secrets(how.namespaces, (f"{PULL_SECRET}=true", ""))
    elif how.pull != NONE:
        cache.secrets(how.namespaces, ("", f"type={DOCKER_CONFIG}"), ("", f"type={DOCKER_FILE}"))


def lighten(secret: Node) -> None:
    """Leaves of a Secret what names it and the addresses that it is for, in place; None for those that can't be read."""
    found = addresses(secret)
    kept = {name: secret["metadata"].get(name) for name in ("name", "namespace", "uid", "resourceVersion")}
    said = {"apiVersion": "v1", "kind": SECRET, "metadata": kept, _ADDRESSES: found}
    secret.clear()
    secret.update(said)


def concerns(old: Node | None, new: Node | None) -> bool:
    """Whether a change of a Secret may change pods."""
    return old is None or new is None or old[_ADDRESSES] != new[_ADDRESSES]


async def tell_unreadable(work: Work, secret: Node) -> PassResult:
    """Says on a pull secret that it has no effect; others have theirs."""
    if secret.get(_ADDRESSES) is None:
        text = f"data: must hold at most {MOST} registries, as in a Secret of type {DOCKER_CONFIG}; only pods that name this Secret get it"
        await work.say(secret, "Warning", UNREADABLE, text)
    return PassResult()


def children_with_secrets(
    work: Work, obj: Node, settings: Settings, make: Callable[[Settings], Rendered], problems: list[Problem]
) -> Rendered:
    """The children that are made of an object, with pull secrets where its namespace is opted in.

    Additions alone change no pods that run: they come with the next other change. While the Secrets can't be read, what controls pods is
    neither made nor changed. Costs a second rendering where there are secrets that the pods lack.
    """
    namespace, how = key_of(obj).namespace, work.settings.secrets
    if how.pull == NONE or namespace not in how.namespaces:
        return make(settings)
    known = work.cache.reflectors[SECRET]
    lacks = known.lacks(namespace)
    if lacks is not None:
        rendered = make(settings)
        left = [child for child in rendered.children if not templates(child)]
        if len(left) < len(rendered.children):
            text = f"the Secrets of the namespace {namespace} can't be read: {lacks or 'not listed yet'}; {GRANT}"
            problems.append(Problem(text, "forbidden"))
        return rendered._replace(children=left)
    found = index((one["metadata"]["name"], one[_ADDRESSES] or ()) for one in work.cache.all(SECRET, namespace))
    full = make(settings._replace(pull_secrets=found))
    live = {(one["kind"], one["metadata"]["name"]): one for one in work.cache.owned(obj) if templates(one)}
    held = {name for one in live.values() for name in _names(one)}
    kept = {address: chosen for address, names in found.items() if (chosen := tuple(name for name in names if name in held))}
    if kept != found and live:
        before = _controllers(make(settings._replace(pull_secrets=kept)))
        unchanged = {key: child for key, child in before.items() if key in live and _is_as_before(child, live[key])}
        full = full._replace(children=[unchanged.get(_key(child), child) for child in full.children])
    return full._replace(children=[_noted(child) for child in full.children])


def _controllers(rendered: Rendered) -> Mapping[tuple[str, str], Node]:
    return {_key(child): child for child in rendered.children if templates(child)}


def _key(child: Node) -> tuple[str, str]:
    return child["kind"], child["metadata"]["name"]


def _is_as_before(child: Node, live: Node) -> bool:
    """Whether pods would stay as they are: by the digest of their templates, or by these themselves where none was noted yet."""
    marks, found = live["metadata"].get("annotations") or {}, templates(child)
    noted = marks.get(PODS_HASH)
    return bool(noted == digest(found) if noted else marks.get(APPLIED_HASH) == digest(child) or says(templates(live), found))


def _noted(child: Node) -> Node:
    """What controls pods, with the digest of their templates."""
    found = templates(child)
    return annotated(child, {PODS_HASH: digest(found)}) if found else child


def _names(live: Node) -> set[str]:
    """The pull secrets of the pods of a live object."""
    specs = (one.get("spec") or {} for one in templates(live).values())
    return {str(one.get("name")) for spec in specs for one in spec.get("imagePullSecrets") or ()}
