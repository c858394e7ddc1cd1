"""A configuration and a silent API server for commands that last: what they do before anybody answers."""

import json
import socket
from pathlib import Path

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
    file = directory / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    file.write_text(json.dumps(config))
    return file
