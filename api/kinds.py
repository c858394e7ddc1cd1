"""The table of kinds: names, aliases, versions and which of them is stored. Import-light: no schema, no pydantic."""

from typing import Final, NamedTuple

from .line import NEWEST, OLDEST, Line

GROUP: Final = "nvidia.com"
ALPHA: Final = "v1alpha1"
BETA: Final = "v1beta1"
GAMMA: Final = "v1beta2"  # since line 1.7: converted and guarded, and judged by its schema alone


class Version(NamedTuple):
    """One version of a kind, as its CustomResourceDefinition lists it."""

    name: str
    storage: bool = False
    served: bool = True
    deprecated: bool = False


class Kind(NamedTuple):
    """One custom resource; `alias` is this project's own abbreviation, `short` the one that kubectl knows."""

    name: str
    alias: str
    plural: str
    short: str
    versions: tuple[Version, ...]
    subresources: tuple[str, ...] = ("status",)
    since: Line = OLDEST
    until: Line | None = None  # the first line that has it no longer
    enveloped: tuple[Version, ...] = ()  # since line 1.7: versions whose objects the others keep whole, and that keep theirs

    @property
    def crd_name(self) -> str:
        """The name of the CustomResourceDefinition object."""
        return f"{self.plural}.{GROUP}"

    def is_of(self, line: Line) -> bool:
        """Whether the operator of a line has the kind."""
        return self.since <= line and (self.until is None or line < self.until)

    def of_line(self, line: Line) -> tuple[Version, ...]:
        """The versions in the definitions of a line."""
        return (*self.versions, *(self.enveloped if line >= Line.V1_7 else ()))

    def stored(self, line: Line) -> str:
        """The version in which the definitions of a line keep the objects: since line 1.5 always the newest."""
        return self.versions[-1].name if line >= Line.V1_5 else self.storage_version

    @property
    def storage_version(self) -> str:
        """The version in which the API server keeps the objects, by the definitions of line 1.2."""
        return next(version.name for version in self.versions if version.storage)

    def other(self, version: str) -> str:
        """The name of the version that a given one is converted to and from; empty for a kind of one version."""
        return next((known.name for known in reversed(self.versions) if known.name != version), "")

    def has(self, version: str) -> bool:
        """Whether the kind exists in that version."""
        return any(known.name == version for known in self.of_line(NEWEST))


_ALPHA_STORED = (Version(ALPHA, storage=True, deprecated=True), Version(BETA))
_BETA_STORED = (Version(ALPHA, deprecated=True), Version(BETA, storage=True))
_ALPHA_ONLY = (Version(ALPHA, storage=True),)
_GAMMA_ONLY = (Version(GAMMA, storage=True),)

KINDS: Final[tuple[Kind, ...]] = (
    Kind("DynamoGraphDeployment", "DGD", "dynamographdeployments", "dgd", _ALPHA_STORED),
    Kind("DynamoComponentDeployment", "DCD", "dynamocomponentdeployments", "dcd", _ALPHA_STORED),
    Kind("DynamoGraphDeploymentRequest", "DGDR", "dynamographdeploymentrequests", "dgdr", _BETA_STORED, enveloped=(Version(GAMMA),)),
    Kind(
        "DynamoGraphDeploymentScalingAdapter",
        "DGDSA",
        "dynamographdeploymentscalingadapters",
        "dgdsa",
        _ALPHA_STORED,
        subresources=("status", "scale"),
    ),
    Kind("DynamoCheckpoint", "CKPT", "dynamocheckpoints", "dckpt", _ALPHA_ONLY, until=Line.V1_5),
    Kind("DynamoModel", "MODEL", "dynamomodels", "dm", _ALPHA_ONLY),
    Kind("DynamoWorkerMetadata", "DWM", "dynamoworkermetadatas", "dwm", _ALPHA_ONLY, subresources=()),
    Kind("DynamoGraphDeploymentRun", "RUN", "dynamographdeploymentruns", "dgdrrun", _GAMMA_ONLY, since=Line.V1_7),
    Kind("DynamoGraphDeploymentCandidate", "CAND", "dynamographdeploymentcandidates", "dgdc", _GAMMA_ONLY, since=Line.V1_7),
)
BY_NAME: Final[dict[str, Kind]] = {kind.name: kind for kind in KINDS}
BY_ALIAS: Final[dict[str, Kind]] = {kind.alias: kind for kind in KINDS}


def api_version(version: str) -> str:
    """Writes a version as objects carry it: `nvidia.com/v1alpha1`."""
    return f"{GROUP}/{version}"


def list_kind_versions(line: Line = NEWEST) -> tuple[tuple[str, str], ...]:
    """Lists every (kind, version) of a line and of those before it, in the order of the table; by default all that exist."""
    return tuple((kind.name, version.name) for kind in KINDS if kind.since <= line for version in kind.of_line(line))
