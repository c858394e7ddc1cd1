"""Checks users' own policies in the ConfigMap that the server's Deployment mounts."""

import tempfile
from pathlib import Path
from typing import Final

from ....api.line import Line
from ....api.paths import lookup
from ....kube.errors import ForbiddenError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CONFIG_MAPS
from ....webhooks.policies import MAX_PROBLEMS
from ...daemon.policies import load_policies
from ...installation.parts import InstalledObjects, find_component, find_pod_spec
from .finding import DoctorFinding, warning

VOLUME: Final = "policies"


async def check_policies(cluster: Cluster, parts: InstalledObjects, line: Line) -> list[DoctorFinding]:
    """A warning for each thing that the server can't use, and for what doesn't fit the schema of an operator release. Raises: ApiError."""
    mounted = [_mounted(live) for key, live in parts.live.items() if live and key[0] == "Deployment" and find_component(live) == "server"]
    if not (name := next(filter(None, mounted), "")):
        return []
    what = f"ConfigMap {name}"
    try:
        config_map = await cluster.get(CONFIG_MAPS, name, parts.namespace)
    except ForbiddenError as error:
        return [warning("permission", what, f"can't be read: {error.message}")]
    if config_map is None:
        return [warning("policies", what, "is not there: no policies of your own are in force")]
    with tempfile.TemporaryDirectory() as folder:
        for key, text in (config_map.get("data") or {}).items():
            (Path(folder) / key).write_text(text, encoding="utf-8")
        rules, problems = load_policies(folder)
        messages = [*problems[:MAX_PROBLEMS], *rules.warnings(line)[:MAX_PROBLEMS]]
    return [warning("policies", what, each.replace(f"{folder}/", "")) for each in messages]


def _mounted(deployment: Node) -> str:
    """The ConfigMap of policies that a Deployment's pods mount; empty for none."""
    volumes = find_pod_spec(deployment).get("volumes") or ()
    return next((str(lookup(each, ("configMap", "name"))) for each in volumes if each.get("name") == VOLUME and "configMap" in each), "")
