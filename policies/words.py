"""Sentences of rules in the words of both versions: a template refers to fields and modes, which each version names in its own way."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from ..api.kinds import ALPHA, BETA
from ..api.wording import shorten

# What a template may refer to: a name of v1alpha1, and what v1beta1 has for it. The names of fields are held to the lenses by a test.
NAMES: Final = {
    "service": "component",
    "services": "components",
    "intraPod": "IntraPod",
    "interPod": "InterPod",
    "checkpoint": "experimental.checkpoint",
    "componentType": "type",
    "extraPodSpec": "podTemplate.spec",
    "failover": "experimental.failover",
    "gpuMemoryService": "experimental.gpuMemoryService",
    "extraPodSpec.mainContainer.command": "command of the container main in podTemplate.spec.containers",
    "extraPodSpec.mainContainer.image": "image of the container main in podTemplate.spec.containers",
    "mountPoint": "mountPath",
    "resources.limits.gpu": "resources.limits[nvidia.com/gpu] of the main container",
    "sharedMemory.size": "sharedMemorySize",
    "topologyProfile": "clusterTopologyName",
    "useAsCompilationCache": "compilationCache",
}


class VersionText(NamedTuple):
    """One text as an author of each version reads it; written out where the versions differ in more than names."""

    v1alpha1: str
    v1beta1: str

    def of(self, version: str) -> str:
        """The text for an author of a version."""
        return self.v1beta1 if version == BETA else self.v1alpha1

    def both(self, version: str) -> tuple[str, str]:
        """The text for an author of a version, and that for one of the other."""
        return (self.v1beta1, self.v1alpha1) if version == BETA else self


Text: TypeAlias = str | VersionText


def format_words(template: str, **values: Text | float | None) -> VersionText:
    """The text of a template, which must be a constant: `{x}` is the value `x`, or else what NAMES has; other braces stay.

    Values are put in as they are, so that what an author wrote is never taken for a reference.
    """
    alpha, beta = _forms(template, tuple(values))
    if VersionText not in map(type, values.values()):
        return VersionText(alpha % values, beta % values)
    return VersionText(alpha % _in(ALPHA, values), beta % _in(BETA, values))


def _in(version: str, values: dict[str, Text | float | None]) -> dict[str, str | float | None]:
    return {name: value.of(version) if isinstance(value, VersionText) else value for name, value in values.items()}


@lru_cache(maxsize=1024)
def _forms(template: str, values: tuple[str, ...]) -> tuple[str, str]:
    """A template in the words of each version, with `%(x)s` for the value `x`."""
    head, *rest = template.replace("%", "%%").split("{")
    alpha, beta = [head], [head]
    for piece in rest:
        name, brace, behind = piece.partition("}")
        if brace and name in values:
            word = other = f"%({name})s"
        elif brace and name in NAMES:
            word, other = name, NAMES[name]
        else:
            word, other, behind = "{", "{", piece
        alpha += word, behind
        beta += other, behind
    return "".join(alpha), "".join(beta)


_MAX_NAME_CHARACTERS: Final = 253


def quote_all(names: Iterable[str]) -> str:
    """Lists names in order, each in double quotes."""
    return ", ".join(f'"{name}"' for name in sorted(names))


def quote_once(text: str) -> str:
    """A value of the whole object, as the findings of each of its components may repeat it: no name in use is longer."""
    return shorten(text, _MAX_NAME_CHARACTERS)
