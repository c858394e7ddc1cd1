"""`reconcile`: makes running workloads of graphs. Flags and configuration are read here; the work is the room `reconciler`'s."""

import asyncio
import os
from functools import partial
from typing import Final, NamedTuple

from ...api.operator.configuration import OperatorConfiguration
from ...kube.lease import Timings
from ..console.exits import OK, UsageError
from ..daemon import listening
from ..daemon.options import DaemonOptions

HELP: Final = "create and maintain the workloads of graphs"


class Options(NamedTuple):
    """Flags and arguments."""

    daemon: DaemonOptions = DaemonOptions("")


def run(options: Options) -> int:
    """Reconciles until SIGTERM or SIGINT. Raises: UsageError for a configuration that can't be used."""
    listening.end_on_sigterm()
    return serve(options.daemon)


def serve(options: DaemonOptions, lease: Timings | None = None) -> int:
    """Reconcile until stopped; tests use a shorter Lease."""
    from ...reconciler.common.resources import MANAGER
    from ...reconciler.reconciler import Reconciler
    from ...webhooks.policies import Policies
    from ...webhooks.reload import Reload
    from ..daemon.policies import make_policy_source, read_policies
    from ..daemon.run import SideListeners, make_identity, run_daemon

    settings = settings_of(options)
    side = SideListeners(*listening.parse_listeners(options, settings), settings.server.metrics.secure)
    with listening.set_up_logging(settings):
        make = partial(Reconciler, settings=settings, identity=make_identity(), lease=lease)
        if folder := settings.serving.policies:
            source = make_policy_source(folder)
            policies = Policies(read_policies(folder))
            side = side._replace(policies=Reload(source, policies.replace))
            make = partial(make, policies=lambda: policies.current.documents)
        asyncio.run(run_daemon("reconciler", MANAGER, options.kubeconfig, make, side))
    return OK


def settings_of(options: DaemonOptions) -> OperatorConfiguration:
    """The settings in effect. Raises: UsageError when it isn't known where the Lease is kept, or the configuration is wrong."""
    settings = listening.load_settings(options.config, os.environ, lenient=options.lenient_config)
    if settings.leader_election.lease and not settings.leader_namespace:
        raise UsageError("operator.namespace: must name the namespace of the installation; outside a pod set it, or POD_NAMESPACE")
    return settings
