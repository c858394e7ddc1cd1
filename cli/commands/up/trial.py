"""One run of `up`: this process serves, reconciles in the same loop, and removes its objects when it stops. It writes no file."""

import asyncio
import signal
import socket
from pathlib import Path
from typing import Final

from ....api.line import Line
from ....certs.files import local_names
from ....reconciler.common.resources import MANAGER
from ....reconciler.reconciler import Reconciler
from ....webhooks import process
from ....webhooks.cluster.observed_facts import read_configured_facts
from ....webhooks.sockets import ANY_ADDRESS, Address, AddressError, bind
from ...console.exits import OK
from ...console.output import write_stderr
from ...daemon.listening import bind_socket
from ...daemon.options import ServerOptions
from ...daemon.run import SelfSignedPair, make_identity
from ...daemon.server import make_plan
from ...installation.configuration import load_configuration
from ...installation.connection import connect_cluster
from ...yaml.load import Source
from .cluster import COMPONENT, list_registrations, remove_ours, wait_for_webhooks

# planners and endpoint pickers get these roles where the cluster has them
_CONFIGURATION: Final = """\
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
operator: {{version: {line}.0}}
server: {{metrics: {{secure: false}}}}
serving: {{drainLag: 0s}}
logging: {{level: warn}}
leaderElection: {{enabled: false}}
mpi: {{sshSecretName: mpi-run-ssh-secret, sshSecretNamespace: default}}
rbac: {{plannerClusterRoleName: dynamo-webhooks-planner, dgdrProfilingClusterRoleName: none, eppClusterRoleName: dynamo-webhooks-epp}}
"""


def run_trial(kubeconfig: str, user: str, address: Address, line: Line, other: str) -> int:
    """Serves and reconciles until SIGTERM or SIGINT; the exit code.

    `user` is our name to the API server, which is to call `address`, or else be advised `other`. Raises: RefusedError, ApiError,
    UsageError.
    """
    settings = load_configuration(Source("up", _CONFIGURATION.format(line=line)), {}).configuration
    facts = read_configured_facts(settings) | {"operatorPrincipal": user}
    pair = SelfSignedPair(local_names(address.host))
    plan = make_plan(ServerOptions(kubeconfig=kubeconfig, self_signed=True), settings, facts, Path())._replace(pair=pair)
    listen, sock = _bound(address)
    url, tasks = f"https://{listen}", list[asyncio.Task[None]]()
    side = bind_socket("--probe-listen", Address("127.0.0.1", 0))[1]
    side.listen()

    async def work() -> None:
        """Registers this process and reconciles, until the loop ends."""
        async with connect_cluster(MANAGER, kubeconfig) as cluster:
            for resource, obj in list_registrations(url, pair.offer().bundle, line):
                await cluster.apply(resource, obj, manager=COMPONENT, force=True)
            await wait_for_webhooks(cluster, url, other)
            write_stderr(f"ready {url} as operator {line}: create a graph; Ctrl-C removes the definitions with all Dynamo objects")
            await Reconciler(cluster, settings, make_identity()).run()

    def start() -> None:
        tasks.append(asyncio.get_running_loop().create_task(work()))
        tasks[0].add_done_callback(lambda task: None if task.cancelled() else signal.raise_signal(signal.SIGTERM))

    try:
        process.serve(plan, sock, process.SideListeners(side, side), start)
    finally:
        write_stderr("removing the objects of this run; `dynamo-webhooks up --clean` removes them, too")
        write_stderr(asyncio.run(remove_ours(kubeconfig)))
    for task in tasks:
        if not task.cancelled():
            task.result()  # raises why it could not go on
    return OK


def _bound(address: Address) -> tuple[Address, socket.socket]:
    """A socket for an address, on all interfaces where only others know this machine by it."""
    try:
        return bind(address)
    except AddressError:
        bound, sock = bind(Address(ANY_ADDRESS, address.port))
        return Address(address.host, bound.port), sock
