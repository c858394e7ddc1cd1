"""The table of kinds: names, aliases, versions and which of them is stored. Import-light: no schema, no pydantic."""

from typing import Final, NamedTuple

from .line import Line

GROUP: Final = "nvidia.com"
ALPHA: Final = "v1alpha1"
BETA: Final = "v1beta1"
GAMMA: Final = "v1beta2"  # of requests alone, since line 1.7: converted and guarded, but its members are not judged


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
    until: Line | None = None  # the first line that has it no longer

    @property
    def crd_name(self) -> str:
        """The name of the CustomResourceDefinition object."""
        return f"{self.plural}.{GROUP}"

    def is_of(self, line: Line) -> bool:
        """Whether the operator of a line has the kind."""
        return self.until is None or line < self.until

    def stored(self, line: Line) -> str:
        """The version in which the definitions of a line keep the objects: since line 1.5 always the newest."""
        return self.versions[-1].name if line >= Line.V1_5 else self.storage_version

    @property
    def storage_version(self) -> str:
        """The version in which the API server keeps the objects, by the definitions of line 1.2."""
        return next(version.name for version in self.versions if version.storage)

    def other(self, version: str) -> str:
        """The name of the version that a given one isn't; empty for a kind of one version."""
        return next((known.name for known in self.versions if known.name != version), "")

    def has(self, version: str) -> bool:
        """Whether the kind exists in that version."""
        return any(known.name == version for known in self.versions)


_ALPHA_STORED = (Version(ALPHA, storage=True, deprecated=True), Version(BETA))
_BETA_STORED = (Version(ALPHA, deprecated=True), Version(BETA, storage=True))
_ALPHA_ONLY = (Version(ALPHA, storage=True),)

KINDS: Final[tuple[Kind, ...]] = (
    Kind("DynamoGraphDeployment", "DGD", "dynamographdeployments", "dgd", _ALPHA_STORED),
    Kind("DynamoComponentDeployment", "DCD", "dynamocomponentdeployments", "dcd", _ALPHA_STORED),
    Kind("DynamoGraphDeploymentRequest", "DGDR", "dynamographdeploymentrequests", "dgdr", _BETA_STORED),
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
)
BY_NAME: Final[dict[str, Kind]] = {kind.name: kind for kind in KINDS}
BY_ALIAS: Final[dict[str, Kind]] = {kind.alias: kind for kind in KINDS}


def api_version(version: str) -> str:
    """Writes a version as objects carry it: `nvidia.com/v1alpha1`."""
    return f"{GROUP}/{version}"


def list_kind_versions() -> tuple[tuple[str, str], ...]:
    """Lists every (kind, version) that exists, in the order of the table."""
    return tuple((kind.name, version.name) for kind in KINDS for version in kind.versions)
