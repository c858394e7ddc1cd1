"""The form in which objects are compared: as a cluster would hold them, in one version, without what the server alone writes."""

from typing import Final, NamedTuple

from ....api.kinds import BY_NAME
from ....conversion.kinds import KINDS
from ....conversion.remainder import ASIDE, reserved_keys
from ....policies.review import Fields
from ...objects.forms import Server

# of metadata: fields that the API server or kubectl writes
_SERVERS: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid", "deletionGracePeriodSeconds")
_CLIENTS: Final = ("kubectl.kubernetes.io/last-applied-configuration",)


class Asked(NamedTuple):
    """What a run was asked for; the same for every object."""

    server: Server
    to: str = ""  # the version to compare in; empty: that of the new object


def strip_server_fields(obj: Fields, kind: str) -> Fields:
    """The object without values that no author wrote: server-written metadata, conversion's annotations, empty maps."""
    ours = reserved_keys(KINDS[kind]) if kind in KINDS else ()
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVERS}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        key: value for key, value in annotations.items() if key not in ours and not key.startswith(ASIDE) and key not in _CLIENTS
    }
    metadata = {name: value for name, value in metadata.items() if value not in ({}, None)}
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "status")} | {"metadata": metadata}


def other_version(kind: str, version: str) -> str:
    """The version of a kind that a given one isn't; empty where there is none."""
    return BY_NAME[kind].other(version) if kind in KINDS else ""
