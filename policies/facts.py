"""Facts: settings of the operator, and APIs that the cluster serves; each known or UNKNOWN."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from ..api.line import DEFAULT_LINE, Line, decide_line


class Unknown(Enum):
    """The value of an unknown fact."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


class UnknownFactError(Exception):
    """A rule needs an unknown fact; the evaluator turns it into a not-evaluated finding."""

    def __init__(self, fact: str) -> None:
        super().__init__(fact)
        self.fact = fact


class Facts(NamedTuple):
    """Facts by their names in the facts file (camel case there); every one may be UNKNOWN, and None only where documented."""

    operatorScope: str | Unknown = UNKNOWN  # noqa: N815 - facts keep one spelling everywhere: file, rule, message
    operatorVersion: str | Unknown = UNKNOWN  # noqa: N815
    operatorLine: Line | Unknown = UNKNOWN  # noqa: N815 - overrides the line of the version
    operatorPrincipal: str | Unknown = UNKNOWN  # noqa: N815 - "" means that no account owns the operator's rights
    grove: bool | Unknown = UNKNOWN
    inferencePool: bool | Unknown = UNKNOWN  # noqa: N815 - is inference.networking.k8s.io served
    # ClusterTopology name -> domains from broad to narrow; None: the API is absent, so every look-up fails
    clusterTopologies: Mapping[str, tuple[str, ...]] | Unknown | None = UNKNOWN  # noqa: N815
    gpuDiscovery: bool | Unknown = UNKNOWN  # noqa: N815
    dra: bool | Unknown = UNKNOWN  # is resource.k8s.io/v1 served and switched on
    lws: bool | Unknown = UNKNOWN
    istio: bool | Unknown = UNKNOWN
    excludedNamespaces: frozenset[str] | Unknown = UNKNOWN  # noqa: N815
    allowGmsSnapshot: bool | Unknown = UNKNOWN  # noqa: N815
    checkpoint: bool | Unknown = UNKNOWN  # are checkpoints switched on in the operator; asked since line 1.5
    lpx: bool | Unknown = UNKNOWN  # is LPX switched on in the operator; asked since line 1.6
    dgdrDefaultImage: str | Unknown = UNKNOWN  # noqa: N815 - of requests without an image, since line 1.4; else it follows from the operator's version
    # of grove, lws and dra those that the operator is configured not to use; the others that are false are not served
    switchedOff: frozenset[str] | Unknown = UNKNOWN  # noqa: N815

    @property
    def line(self) -> Line:
        """The line by these facts; without one, the newest."""
        if self.operatorLine is not UNKNOWN:
            return self.operatorLine
        return DEFAULT_LINE if self.operatorVersion is UNKNOWN else decide_line(self.operatorVersion)

    def need(self, name: str) -> Any:
        """Returns a fact that must be known.

        Raises: UnknownFactError when it isn't, which makes the asking rule not evaluated.
        """
        value = getattr(self, name)
        if value is UNKNOWN:
            raise UnknownFactError(name)
        return value

    def excludes(self, namespace: object) -> bool:
        """Whether another operator has leased a namespace; only an operator that runs cluster-wide gives way."""
        names = self.excludedNamespaces
        return self.operatorScope == "cluster" and isinstance(names, frozenset) and namespace in names


_BOOLEANS: Final = ("grove", "inferencePool", "gpuDiscovery", "dra", "lws", "istio", "allowGmsSnapshot", "checkpoint", "lpx")
_NAMES: Final = ("excludedNamespaces", "switchedOff")
_TEXTS: Final = ("operatorVersion", "operatorPrincipal", "dgdrDefaultImage")


class FactsError(ValueError):
    """A facts file that can't be used; the text names the key."""


def facts_from(data: object) -> Facts:
    """Builds facts from the decoded facts file; null means unknown, but for clusterTopologies, where it means that the API is absent.

    Raises: FactsError with the key, the requirement and the value.
    """
    if data is None:
        return Facts()
    if not isinstance(data, dict):
        raise FactsError(f"the facts must be a mapping, got {type(data).__name__}")
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in Facts._fields:
            raise FactsError(f"{key}: unknown fact; known are {', '.join(Facts._fields)}")
        if value is None and key != "clusterTopologies":
            continue
        values[key] = _checked(key, value)
    return Facts(**values)


def _checked(key: str, value: Any) -> Any:
    if key in _BOOLEANS:
        good, wanted = isinstance(value, bool), "true, false or null"
    elif key in _TEXTS:
        good, wanted = isinstance(value, str), "text"
    elif key == "operatorScope":
        good, wanted = value in ("cluster", "namespace"), "cluster or namespace"
    elif key in _NAMES:
        good, wanted = isinstance(value, list) and all(isinstance(item, str) for item in value), "a list of names"
    else:
        return _line(value) if key == "operatorLine" else _topologies(key, value)
    if not good:
        raise FactsError(f"{key}: must be {wanted}, got {value!r}")
    return frozenset(value) if key in _NAMES else _version(value) if key == "operatorVersion" else value


def _line(value: Any) -> Line:
    text = str(value) if isinstance(value, float) else value  # YAML reads 1.5 as a number
    if not isinstance(text, str) or text not in list(Line):
        raise FactsError(f"operatorLine: must be one of {', '.join(Line)}, got {value!r}")
    return Line(text)


def _version(text: str) -> str:
    """Graphs are stamped with it, and a stamp that is no version is refused: their authors would be blamed for what an admin wrote."""
    from .semver import is_semver

    if not is_semver(text):
        raise FactsError(f"operatorVersion: must be a semantic version such as 1.2.0, got {text!r}")
    return text


def _topologies(key: str, value: Any) -> Mapping[str, tuple[str, ...]] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise FactsError(f"{key}: must map names to lists of domains, got {value!r}")
    for name, domains in value.items():
        if not isinstance(domains, list) or not all(isinstance(item, str) for item in domains):
            raise FactsError(f"{key}.{name}: must be a list of domains from broad to narrow, got {domains!r}")
    return {str(name): tuple(domains) for name, domains in value.items()}
