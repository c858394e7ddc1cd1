"""`doctor` run in this process on a real API server, and a shell in which its repairs are run as a user does."""

import contextlib
import io
import json
import os
import subprocess
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.cli.main import main
from tests.cluster.admission import COMMAND
from tests.cluster.kubelet import Site
from tests.cluster.processes import StartError, wait_until
from tests.cluster.provisioning import MERGE_PATCH

Finding: TypeAlias = dict[str, str]
SETTLE: Final = 90.0  # seconds for the cluster to follow what was changed
SERIOUS: Final = ("error", "warning")


class Doctor:
    """The command, and a shell in which its repairs are run."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def findings(self, *flags: str) -> list[Finding]:
        """What is wrong."""
        with contextlib.redirect_stdout(io.StringIO()) as out, pytest.MonkeyPatch.context() as patched:
            patched.setenv("KUBECONFIG", str(self.site.plane.kubeconfig))
            main(["doctor", "-o", "json", *flags])
        findings: list[Finding] = json.loads(out.getvalue())["findings"]
        return [each for each in findings if each["level"] in SERIOUS]

    def until(self, condition: Callable[[list[Finding]], Any], what: str) -> list[Finding]:
        """Asks until the cluster has followed."""
        last: list[list[Finding]] = []

        def met() -> bool:
            last[:] = [self.findings()]
            return bool(condition(last[0]))

        try:
            wait_until(met, what, patience=SETTLE)
        except StartError as error:
            raise AssertionError(f"{what}: {json.dumps(last, indent=1)}") from error
        return last[0]

    def shell(self, command: str) -> None:
        """Runs a command as a user does."""
        environment = {
            **os.environ,
            "HOME": str(self.site.home),
            "KUBECONFIG": str(self.site.plane.kubeconfig),
            "PATH": f"{COMMAND.parent}:{self.site.plane.assets}:{os.environ['PATH']}",
        }
        assert "PRIVATE" not in command
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=environment, check=False, timeout=120
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def patch(site: Site, path: str, body: Any, kind: str = MERGE_PATCH) -> None:
    """Changes an object as somebody else would."""
    site.plane.request("PATCH", path, body, kind=kind).done()
