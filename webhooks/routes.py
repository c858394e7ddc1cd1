"""The paths that the server answers, as one table."""

from typing import Final, NamedTuple

from ..admission.new_pods import PATH
from ..admission.registration import OWNED, WEBHOOKS, Purpose, find_rule_version
from ..api.kinds import BETA, BY_NAME


class Route(NamedTuple):
    """One path: the kind and version that it decodes, and whether the policies read the kind's other version there."""

    path: str
    purpose: Purpose
    kind: str = ""
    version: str = ""
    read: str = ""  # the version that the rules or defaults of this purpose read

    @property
    def converts(self) -> bool:
        """Whether an object must be converted before it can be judged."""
        return self.version != self.read

    @property
    def text(self) -> str:
        """The kind and version as rules spell them."""
        return f"{self.kind}/{self.version}"


CONVERT: Final = Route("/convert", Purpose.CONVERT)
RESTORE: Final = Route(PATH, Purpose.RESTORE, "Pod", "v1", "v1")


def route_path(kind: str, version: str, purpose: Purpose) -> str:
    """The path where a kind and version is validated or mutated."""
    return f"/{purpose.value}-nvidia-com-{version}-{kind.lower()}"


def _table() -> dict[str, Route]:
    routes = [
        Route(route_path(kind, version.name, purpose), purpose, kind, version.name, find_rule_version(kind, purpose))
        for kind, purpose in WEBHOOKS
        for version in BY_NAME[kind].versions
    ]
    owned = [Route(route_path(*each, Purpose.VALIDATE), Purpose.VALIDATE, *each, each[1]) for each in OWNED]
    return {route.path: route for route in (*routes, *owned, CONVERT, RESTORE)}


ROUTES: Final[dict[str, Route]] = _table()

# The names of three of the paths in the Go operator since line 1.5. They are served on all lines, so that registrations of either operator,
# which may be there for a while before or after an upgrade, always find one.
ALIASES: Final[dict[str, Route]] = {
    f"/{purpose.value}/nvidia.com/{BETA}/{BY_NAME[kind].plural}": ROUTES[route_path(kind, BETA, purpose)]
    for kind, purpose in (
        ("DynamoGraphDeployment", Purpose.VALIDATE),
        ("DynamoComponentDeployment", Purpose.VALIDATE),
        ("DynamoGraphDeployment", Purpose.MUTATE),
    )
}


def find_route(target: str) -> Route | None:
    """The route of a request target: a path, or, as HTTP wants every server to accept, a whole URL. The query counts for nothing."""
    path = target.partition("?")[0]
    if not path.startswith("/"):
        scheme, _, rest = path.partition("://")
        path = "/" + rest.partition("/")[2] if scheme.lower() in ("http", "https") else ""
    return ROUTES.get(path) or ALIASES.get(path)
