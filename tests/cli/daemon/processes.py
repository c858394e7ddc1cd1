"""A configuration and a silent API server for commands that last: what they do before anybody answers, and that they stop in order."""

import contextlib
import re
import signal
import socket
from collections.abc import Iterator
from os import kill
from pathlib import Path

import yaml

from tests.cluster.admission import COMMAND, start
from tests.cluster.processes import Process, running, wait_until
from tests.kube.test_config import kubeconfig

CONFIG = """
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
operator: {namespace: dynamo-system}
server: {metrics: {secure: false}}
leaderElection: {enabled: true, id: dynamo-webhooks-reconciler}
mpi: {sshSecretName: keys, sshSecretNamespace: dynamo-system}
rbac: {plannerClusterRoleName: planner, dgdrProfilingClusterRoleName: profiling, eppClusterRoleName: epp}
"""


def configured(directory: Path) -> Path:
    """A configuration file."""
    file = directory / "config.yaml"
    file.write_text(CONFIG)
    return file


def unreachable(directory: Path) -> Path:
    """A kubeconfig whose server is a port that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    return kubeconfig(directory / "kubeconfig", server=f"https://127.0.0.1:{port}")


def host_of(file: Path) -> str:
    """The address of the first server of a kubeconfig."""
    server: str = yaml.safe_load(file.read_text())["clusters"][0]["cluster"]["server"]
    return server.removeprefix("https://")


@contextlib.contextmanager
def lasting(name: str, config: Path, cluster: Path) -> Iterator[Process]:
    """A command that runs, and at the end of the block stops in order."""
    with running(start(name, config.parent, COMMAND, name, config=config, kubeconfig=cluster)) as process:
        yield process
        kill(process.pid, signal.SIGTERM)
        wait_until(lambda: process.ended() is not None, "its end")
        assert (process.ended(), "Traceback" in process.text()) == (0, False), process.text()


def address_of(process: Process, what: str) -> str:
    """Where it has its probes or metrics, `HOST:PORT`, once it tells."""
    return wait_until(lambda: re.search(rf"^{what} https?://(\S+)", process.text(), re.MULTILINE), "its address", process)[1]
