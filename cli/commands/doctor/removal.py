"""Finds obstacles to removing the installation: objects that would become unreadable, and references to it that would remain."""

from collections.abc import Iterator

from ....api.crd import ALLOW_DATA_LOSS
from ....api.kinds import KINDS, Kind
from ....kube.errors import ApiError, ForbiddenError, NotFoundError
from ....kube.protocol import Cluster
from . import repairs
from .finding import Finding, error, warning
from .observe import Sight
from .storage import stored_resource

_SHOWN = 5  # objects that are named of each kind


async def removal(cluster: Cluster, sight: Sight) -> list[Finding]:
    """The findings in the order in which an installation is taken down: objects, webhooks, conversion."""
    found: list[Finding] = []
    for kind in KINDS:
        if sight.crds[kind.plural] is not None:
            found += await _objects(cluster, sight, kind)
    return [*found, *_webhooks(sight), *_stanzas(sight)]


async def _objects(cluster: Cluster, sight: Sight, kind: Kind) -> list[Finding]:
    """Remaining objects, listed in their stored version, which needs no conversion."""
    what = f"{kind.plural} of every namespace"
    try:
        items = (await cluster.list(stored_resource(sight, kind))).items
    except NotFoundError:
        return []
    except ForbiddenError as failed:
        return [warning("objects", what, f"can't be listed: {failed.message}")]
    except ApiError as failed:
        return [error("objects", what, f"can't be listed, and removing the CRD deletes them: {failed.message}")]
    if not items:
        return []
    names = [f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in items[:_SHOWN]]
    held = sum(bool(each["metadata"].get("finalizers")) for each in items)
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    text = f"{len(items)} are left: {', '.join(names)}{more}" + (
        f"; {held} have finalizers that the reconciler must remove" if held else ""
    )
    return [error("objects", what, text, f"kubectl delete {kind.plural} --all --all-namespaces")]


def _webhooks(sight: Sight) -> Iterator[Finding]:
    for kind, name in sight.about.targets:
        if sight.configurations.get(kind) is not None:
            text = "must be removed before the server: without a server, every write of Dynamo objects is refused"
            yield error("configurations", f"{kind} {name}", text, f"kubectl delete {kind.lower()} {name}")


def _stanzas(sight: Sight) -> Iterator[Finding]:
    """CRDs that call our Service for conversion; switching that off is safe only when no object needs it."""
    for kind in KINDS:
        crd = sight.crds[kind.plural] or {}
        conversion = (crd.get("spec") or {}).get("conversion") or {}
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service") or {}
        if (service.get("name"), service.get("namespace")) != (sight.about.profile.service, sight.namespace):
            continue
        versions = (crd.get("status") or {}).get("storedVersions") or []
        # with the word that gets it past the policy on the definitions
        change: dict[str, object] = {
            "metadata": {"annotations": {ALLOW_DATA_LOSS: "true"}},
            "spec": {"conversion": {"strategy": "None", "webhook": None}},
        }
        text = (
            "calls our Service for conversion: once that is gone, it can't be listed, nor can a namespace be deleted that may hold objects"
        )
        if len(versions) > 1:
            text += f"; objects may be stored in {' and '.join(versions)}, so write each of them once more first"
        yield error("conversion", f"CustomResourceDefinition {kind.crd_name}", text, repairs.merge("crd", kind.crd_name, change))
