"""Choices that the cluster's APIs decided when workloads were made, and that those keep while they run. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ...kube.protocol import Node
from ...policies.facts import Facts
from ..common.resources import COMPONENT
from ..render.graph import read_experimental
from ..render.merge import object_items
from ..render.names import COMPONENT_TYPE, EPP
from ..render.settings import Settings
from ..render.template import read_pod_templates

DEFAULT: Final = "default"  # the account of pods that name none


def keep_facts(facts: Facts, children: Sequence[Node]) -> Facts:
    """The facts by which the owner of children is judged: what runs is not refused for an API that has vanished."""
    dra, picker = facts.dra, facts.inferencePool
    return facts._replace(dra=uses_claims(children) or dra, inferencePool=EPP in _types(children) or picker)


def keep_settings(settings: Settings, children: Sequence[Node]) -> Settings:
    """The settings by which the owner of children is rendered."""
    pods = [pod.get("spec") or {} for child in children for pod in read_pod_templates(child).values()]
    before = {str(pod.get("serviceAccountName")) for pod in pods} == {DEFAULT}  # no account for discovery by etcd was there
    account = DEFAULT if before else settings.service_account
    return settings._replace(dra=settings.dra or uses_claims(children), service_account=account)


def uses_claims(children: Iterable[Node]) -> bool:
    """Whether pods were asked for that share GPUs by claims of devices."""
    return any(
        read_experimental(child.get("spec") or {}, "gpuMemoryService") is not None
        if child["kind"] == COMPONENT
        else any(object_items((pod.get("spec") or {}).get("resourceClaims")) for pod in read_pod_templates(child).values())
        or bool(((child.get("spec") or {}).get("template") or {}).get("resourceClaimTemplates"))
        for child in children
    )


def _types(children: Iterable[Node]) -> Iterator[str]:
    for child in children:
        if child["kind"] == COMPONENT:
            yield str((child.get("spec") or {}).get("type"))
        for pod in read_pod_templates(child).values():
            yield str((pod.get("labels") or (pod.get("metadata") or {}).get("labels") or {}).get(COMPONENT_TYPE))
