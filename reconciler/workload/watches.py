"""Watches of what graphs and components have in common, and whose an orchestrator's objects are."""

from typing import Final

from ...kube import resources
from ...kube.protocol import Node
from ..common.keys import Key, controller_reference
from ..common.resources import CLIQUES, DESTINATION_RULES, DISAGGREGATED_SET, PLAIN, POD_ACCOUNT, RECONCILED, VIRTUAL_SERVICES
from ..engine.cache import Cache
from ..engine.cluster_settings import index_account
from ..engine.watch import LABELLED, Watch, served

CHILDREN: Final = (
    *(Watch(each, (LABELLED,), flat=True) for each in PLAIN),
    Watch(resources.SERVICE_ACCOUNTS, (LABELLED, (f"{POD_ACCOUNT}=true,{RECONCILED}!=true", "")), flat=True, index_values=index_account),
    *(Watch(each, (LABELLED,)) for each in (resources.INGRESSES, resources.CLAIM_TEMPLATES, resources.CONFIG_MAPS)),
    Watch(resources.INFERENCE_POOLS, (LABELLED,), when=served("inference-pools")),
    Watch(VIRTUAL_SERVICES, (LABELLED,), when=served("istio")),
    Watch(DESTINATION_RULES, (LABELLED,), when=served("istio")),
)
_WORDS: Final = frozenset({"phase", "currentPodTemplateHash"})  # of an orchestrator's status that count


def read_counts(obj: Node | None) -> object:
    """Returns what a pass reads of an object that an orchestrator has made."""
    if obj is None:
        return None
    status = {name: value for name, value in (obj.get("status") or {}).items() if isinstance(value, int | float) or name in _WORDS}
    return obj["metadata"].get("uid"), obj["metadata"].get("deletionTimestamp"), (obj.get("spec") or {}).get("replicas"), status


def find_owner(cache: Cache, key: Key, kind: str) -> list[Key]:
    """The graph or component, by its `kind`, that a set of cliques, a group in one, or a LeaderWorkerSet belongs to."""
    obj = cache.get(key)
    owner = controller_reference(obj) if obj is not None else None
    if owner is None:
        return []
    above = Key(str(owner.get("kind")), key.namespace, str(owner["name"]))
    return find_owner(cache, above, kind) if above.kind in (CLIQUES, DISAGGREGATED_SET) else [above] if above.kind == kind else []
