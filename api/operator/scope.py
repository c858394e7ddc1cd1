"""Sections on identity and namespaces: `operator`, `namespace`, `leaderElection`, `rbac`."""

from dataclasses import dataclass
from typing import Annotated, Final

from ..line import DEFAULT_LINE
from .section import Label, Labels, Name, Switch, Text, key, section, span_of

_MIN_RENEWALS: Final = 3  # within the duration of a Lease


@section
class Operator:
    """This installation; the Go operator reads these only from the environment and flags."""

    namespace: Label = key(default="", text="namespace of this installation; default: the service account's")
    service_account: Name = key(default="", text="service account that may change replicas")
    pod_name: Name = key(default="", text="pod name, the holder of Leases")
    cluster_domain: Name = key(default="cluster.local", text="the cluster's DNS domain, for certificates")
    version: Text = key(default=f"{DEFAULT_LINE}.0", text="operator version: determines rules and fields, and is written into new objects")

    @property
    def principal(self) -> str:
        """The user that the service account is to an API server; empty if not known."""
        known = self.namespace and self.service_account
        return f"system:serviceaccount:{self.namespace}:{self.service_account}" if known else ""


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """The namespaces of an installation, and the Leases by which others claim theirs. Times are seconds."""

    restricted: str  # the one namespace, or empty for the whole cluster
    lease: float
    renew: float  # at most a third of `lease`, whatever the file says, so that two renewals may fail
    grace: float
    max_skew: float
    claimable: tuple[str, ...] | None = None  # the namespaces whose claims exempt them from judging; None is all, as for the Go operator


@section
class Lease:
    """The Lease that marks a namespace as another operator's (`namespace.scope`)."""

    lease_duration: Annotated[float, span_of(0, above=True)] = key(
        default=30.0, text="time that a claim lasts after a renewal; whole seconds"
    )
    lease_renew_interval: Annotated[float, span_of(0, above=True)] = key(
        default=10.0, text="time between renewals; less than `leaseDuration`"
    )
    grace: Annotated[float, span_of(0, 600)] = key(default=10.0, text="time that a claim is honoured after its end")
    max_skew: Annotated[float, span_of(0, 600)] = key(default=60.0, text="tolerated clock skew of a Lease's holder when first seen")
    claimable: Labels = key(
        default=(),
        text="namespaces that other operators may claim: rules and defaults don't apply there while a Lease is renewed",
    )


@section
class Namespace:
    """The namespaces of this installation."""

    restricted: Label = key(default="", text="the only namespace; empty: all that no other operator claims")
    allowed: Labels = key(
        default=(),
        text="namespaces in which the reconciler creates workloads; empty: all",
    )
    scope: Lease = Lease()

    @property
    def claims(self) -> ScopeSettings:
        """The restriction and the Leases together."""
        lease = self.scope
        renew = min(lease.lease_renew_interval, lease.lease_duration / _MIN_RENEWALS)
        return ScopeSettings(self.restricted, lease.lease_duration, renew, lease.grace, lease.max_skew, tuple(lease.claimable))

    @property
    def watched(self) -> tuple[str, ...]:
        """The namespaces that are watched; an empty name is all of them."""
        return tuple(sorted(self.allowed)) or (self.restricted,)


@section
class LeaderElection:
    """Leader election of reconcilers."""

    enabled: Switch = key(default=False, text="let only one process reconcile")
    id: Name = key(default="", text="name of the Lease; required if enabled")
    namespace: Label = key(default="", text="namespace of the Lease; default: this installation's")

    @property
    def lease(self) -> str:
        """The name of the Lease; empty without election."""
        return self.id if self.enabled else ""


@section
class Rbac:
    """ClusterRoles that are bound in namespaces of graphs; required in cluster-wide mode."""

    planner_cluster_role_name: Name = key(default="", text="ClusterRole of planners")
    dgdr_profiling_cluster_role_name: Name = key(default="", text="ClusterRole of profiling jobs")
    epp_cluster_role_name: Name = key(default="", text="ClusterRole of endpoint pickers")
