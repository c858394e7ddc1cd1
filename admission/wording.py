"""Sentences of rules in the words of the author's version. Rules speak v1alpha1 of graphs; for paths see conversion/translate.py."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.kinds import BETA

if TYPE_CHECKING:
    from dynamo_webhooks.policies.finding import Finding, Scalar
    from dynamo_webhooks.policies.rule import Rule

_COMPONENTS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment")
_MODES: Final = {"intraPod": "IntraPod", "interPod": "InterPod"}
# what v1alpha1 says -> what v1beta1 says; longer ones first, so that a phrase wins over the names in it
_PHRASES: Final = {
    " unless useAsCompilationCache is true": "",
    ", or flag the mount with `useAsCompilationCache` if that is what it is": "",
    " unless disabled is true": "",
    ", set `disabled: true` for no volume at all": ", set it to 0 for no volume at all",
    # v1beta1's schema knows one standby engine only
    "; in a graph on Grove mode interPod allows more": "; only v1alpha1 allows more, in pods of their own",
    "; for more, use mode interPod, which services of a graph on Grove can have": "",
    "must be 1 or more in mode interPod": "must be 1 in mode InterPod",
    "`numShadows` to 1 or more": "`numShadows` to 1",
    "without gpuMemoryService, which is": "without experimental.gpuMemoryService, which is",
    "gpuMemoryService.mode": "experimental.gpuMemoryService.mode",
    "gpuMemoryService": "experimental.gpuMemoryService",
    "`failover`": "`experimental.failover`",
    "checkpoint.mode": "experimental.checkpoint.mode",
    "resources.limits.gpu": "resources.limits[nvidia.com/gpu] of the main container",
    "`resources.limits.gpu`": "`resources.limits[nvidia.com/gpu]` of the main container",
    "extraPodSpec.containers": "podTemplate.spec.containers",
    "extraPodSpec": "podTemplate.spec",
    "spec.services": "spec.components",
    "sharedMemory.size": "sharedMemorySize",
    "subComponentType": "type",
    "componentType": "type",
    "topologyProfile": "clusterTopologyName",
    "useAsCompilationCache": "compilationCache",
    "mountPoint": "mountPath",
    **_MODES,
}
_QUOTED: Final = re.compile(r'("[^"]*")')
_PHRASE: Final = re.compile(
    "|".join(
        (r"(?<![\w.])" if phrase[0].isalnum() else "") + re.escape(phrase) + (r"(?!\w)" if phrase[-1].isalnum() else "")
        for phrase in sorted(_PHRASES, key=len, reverse=True)
    )
)
_SERVICE: Final = re.compile(r"(?<!memory )\b([Ss])ervice(s?)\b")  # the GPU memory service keeps its name


def reworded(finding: Finding, kind: str, version: str) -> Finding:
    """The finding as an author of `version` would say it, where rules read another; path and level stay.

    What stands in double quotes is the author's own text, and is left alone but for the two modes that both versions spell differently.
    """
    if version != BETA or kind not in _COMPONENTS:
        return finding
    rule = finding.rule
    fix = in_words(finding.fix or rule.fix, rule, kind, version)
    return finding._replace(text=in_words(finding.text, rule, kind, version), value=_value(finding.value, rule), fix=fix)


def in_words(text: str, rule: Rule, kind: str, version: str) -> str:
    """One sentence of a rule in the words of a version."""
    if version != BETA or kind not in _COMPONENTS:
        return text
    said = _said_of_graph if _of_graph(rule) else _said
    pieces = _QUOTED.split(text)
    return "".join(_seen(piece, rule) if index % 2 else said(piece) for index, piece in enumerate(pieces))


def elsewhere(text: str, shown: str, version: str) -> str:
    """A sentence about a field that the author's version doesn't have: it begins with the field's name in the version that has it."""
    return f"{shown} of {version} {text}"


# remembered: what isn't quoted are the words of rules, of which there are a few hundred
@lru_cache(maxsize=1024)
def _said(piece: str) -> str:
    return _PHRASE.sub(lambda match: _PHRASES[match[0]], piece)


@lru_cache(maxsize=1024)
def _said_of_graph(piece: str) -> str:
    return _SERVICE.sub(_component, _said(piece))


def _component(match: re.Match[str]) -> str:
    return f"{'C' if match[1] == 'S' else 'c'}omponent{match[2]}"


def _seen(quoted: str, rule: Rule) -> str:
    # in a rule about a whole graph the quoted text may be the name of a component
    return quoted if _of_graph(rule) else f'"{_MODES.get(quoted[1:-1], quoted[1:-1])}"'


def _value(value: Scalar, rule: Rule) -> Scalar:
    return _MODES.get(value, value) if isinstance(value, str) and not _of_graph(rule) else value


def _of_graph(rule: Rule) -> bool:
    return rule.module.startswith("dynamo_webhooks.policies.graph.")
