"""Pull secrets of opted-in namespaces: which are read, which parts are kept, and when pods get another set. Values are dropped at once."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ...api.operator.controllers import NONE
from ...kube.protocol import Node
from ..common.applied_diff import contains, digest
from ..common.keys import key_of, kind_and_name
from ..common.problems import Problem
from ..common.resources import APPLIED_HASH, PODS_HASH, SECRET
from ..engine.context import Context
from ..render.children import RenderedChildren
from ..render.objects import annotate
from ..render.pod.registries import index_secrets, list_addresses
from ..render.settings import Settings
from ..render.template import read_pod_templates

GRANT: Final = "add manifests/components/pull-secrets with a RoleBinding in that namespace, or set reconciler.pullSecrets of the chart"
ADDRESSES: Final = "addresses"  # the kept part of a Secret's data


def trim_secret(secret: Node) -> None:
    """Reduces a Secret, in place, to its identity and the addresses that it is for; None for addresses that can't be read."""
    kept = {name: secret["metadata"].get(name) for name in ("name", "namespace", "uid", "resourceVersion")}
    content = {"apiVersion": "v1", "kind": SECRET, "metadata": kept, ADDRESSES: list_addresses(secret)}
    secret.clear()
    secret.update(content)


class PullSecrets(NamedTuple):
    """The pull secrets for the pods of an object."""

    names: Mapping[str, tuple[str, ...]]  # by address of the registry
    live: Mapping[tuple[str, str], Any]  # children with pods, by kind and name
    unreadable: str = ""  # why the Secrets can't be read


def observe_pull_secrets(context: Context, obj: Node) -> PullSecrets | None:
    """The pull secrets of the object's namespace, from the cache; None where it is not opted in."""
    namespace = key_of(obj).namespace
    if context.settings.secrets.pull == NONE or namespace not in context.settings.pull_secret_namespaces:
        return None
    lacks = context.cache.reflectors[SECRET].lacks(namespace)
    if lacks is not None:
        return PullSecrets({}, {}, f"the Secrets of the namespace {namespace} can't be read: {lacks or 'not listed yet'}; {GRANT}")
    names = index_secrets((secret["metadata"]["name"], secret[ADDRESSES] or ()) for secret in context.cache.all(SECRET, namespace))
    return PullSecrets(names, {kind_and_name(child): child for child in context.cache.owned(obj) if read_pod_templates(child)})


def render_with_secrets(
    secrets: PullSecrets | None, settings: Settings, make: Callable[[Settings], RenderedChildren], problems: list[Problem]
) -> RenderedChildren:
    """The children of an object, with pull secrets where its namespace is opted in. Pure.

    Additions alone change no running pods: they come with the next other change. While the Secrets can't be read, children with pods are
    neither made nor changed. Costs a second rendering where there are secrets that the pods lack.
    """
    if secrets is None:
        return make(settings)
    if secrets.unreadable:
        rendered = make(settings)
        left = [child for child in rendered.children if not read_pod_templates(child)]
        if len(left) < len(rendered.children):
            problems.append(Problem(secrets.unreadable, "forbidden"))
        return rendered._replace(children=left)
    full, live = make(settings._replace(pull_secrets=secrets.names)), secrets.live
    held = {name for child in live.values() for name in _names(child)}
    kept = {address: chosen for address, names in secrets.names.items() if (chosen := tuple(name for name in names if name in held))}
    if kept != secrets.names and live:
        before = [child for child in make(settings._replace(pull_secrets=kept)).children if read_pod_templates(child)]
        unchanged = {key: child for child in before if (key := kind_and_name(child)) in live and _is_as_before(child, live[key])}
        full = full._replace(children=[unchanged.get(kind_and_name(child), child) for child in full.children])
    return full._replace(children=[_noted(child) for child in full.children])


def _is_as_before(child: Node, live: Node) -> bool:
    """Whether pods would stay as they are: by the digest of their templates, or by these themselves where none was noted yet."""
    marks, templates = live["metadata"].get("annotations") or {}, read_pod_templates(child)
    noted = marks.get(PODS_HASH)
    return bool(
        noted == digest(templates) if noted else marks.get(APPLIED_HASH) == digest(child) or contains(read_pod_templates(live), templates)
    )


def _noted(child: Node) -> Node:
    """Annotates what controls pods with the digest of their templates."""
    templates = read_pod_templates(child)
    return annotate(child, {PODS_HASH: digest(templates)}) if templates else child


def _names(live: Node) -> set[str]:
    """The pull secrets of the pods of a live object."""
    specs = (template.get("spec") or {} for template in read_pod_templates(live).values())
    return {str(reference.get("name")) for spec in specs for reference in spec.get("imagePullSecrets") or ()}
