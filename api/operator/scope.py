"""Sections on identity and namespaces: `operator`, `namespace`, `leaderElection`, `rbac`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.values import Label, Labels, Name, Switch, Text, span_of


class Operator(Section):
    """This installation; the Go operator reads these only from the environment and flags."""

    namespace: Label = Field(default="", description="namespace of this installation; default: the service account's")
    service_account: Name = Field(default="", description="service account that may change replicas")
    pod_name: Name = Field(default="", description="pod name, the holder of Leases")
    cluster_domain: Name = Field(default="cluster.local", description="the cluster's DNS domain, for certificates")
    version: Text = Field(default="1.2.0", description="semantic version that objects are stamped with")


class Lease(Section):
    """The Lease that marks a namespace as another operator's (`namespace.scope`)."""

    lease_duration: Annotated[float, span_of(0, above=True)] = Field(
        default=30.0, description="time that a claim lasts after a renewal; whole seconds"
    )
    lease_renew_interval: Annotated[float, span_of(0, above=True)] = Field(
        default=10.0, description="time between renewals; less than `leaseDuration`"
    )
    grace: Annotated[float, span_of(0, 600)] = Field(default=10.0, description="time that a claim is honoured after its end")
    max_skew: Annotated[float, span_of(0, 600)] = Field(
        default=60.0, description="tolerated clock skew of a Lease's holder when first seen"
    )


class Namespace(Section):
    """The namespaces of this installation."""

    restricted: Label = Field(default="", description="the only namespace; empty: all that no other operator claims")
    allowed: Labels = Field(
        default=[],
        description="namespaces in which the reconciler creates workloads; empty: all",
    )
    scope: Lease = Lease()


class LeaderElection(Section):
    """Leader election of reconcilers."""

    enabled: Switch = Field(default=False, description="let only one process reconcile")
    id: Name = Field(default="", description="name of the Lease; required if enabled")
    namespace: Label = Field(default="", description="namespace of the Lease; default: this installation's")


class Rbac(Section):
    """ClusterRoles that are bound in namespaces of graphs; required in cluster-wide mode."""

    planner_cluster_role_name: Name = Field(default="", description="ClusterRole of planners")
    dgdr_profiling_cluster_role_name: Name = Field(default="", description="ClusterRole of profiling jobs")
    epp_cluster_role_name: Name = Field(default="", description="ClusterRole of endpoint pickers")
