"""Sections of the file about who we are and which namespaces are ours: `operator`, `namespace`, `leaderElection`, `rbac`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.values import Label, Labels, Name, Switch, Text, span_of


class Operator(Section):
    """This installation; the Go operator knows these from the environment and flags alone."""

    namespace: Label = Field(default="", description="namespace that we run in; the service account's own when nobody says")
    service_account: Name = Field(
        default="", description="our service account; with the namespace it names the account that may change replicas"
    )
    pod_name: Name = Field(default="", description="our pod, as holder of Leases")
    cluster_domain: Name = Field(default="cluster.local", description="the cluster's DNS domain, for names in certificates")
    version: Text = Field(default="1.2.0", description="the version that objects are stamped with; must be a semantic version")


class Lease(Section):
    """The Lease that marks a namespace as another operator's (`namespace.scope`)."""

    lease_duration: Annotated[float, span_of(0, above=True)] = Field(
        default=30.0, description="how long the namespace stays claimed after a renewal; whole seconds"
    )
    lease_renew_interval: Annotated[float, span_of(0, above=True)] = Field(
        default=10.0, description="time between renewals; shorter than the duration"
    )
    grace: Annotated[float, span_of(0, 600)] = Field(default=10.0, description="how much longer a claim is honoured than its duration says")
    max_skew: Annotated[float, span_of(0, 600)] = Field(
        default=60.0, description="how wrong the clock of a Lease's holder may be when it is first seen"
    )


class Namespace(Section):
    """Which namespaces are ours."""

    restricted: Label = Field(
        default="", description="the one namespace that is ours; empty: all of the cluster but those that others claim"
    )
    allowed: Labels = Field(
        default=[],
        description="the namespaces in which the reconciler makes workloads, if it may not do so everywhere; empty: wherever graphs are",
    )
    scope: Lease = Lease()


class LeaderElection(Section):
    """Which of several reconcilers works."""

    enabled: Switch = Field(default=False, description="let only one of several processes reconcile")
    id: Name = Field(default="", description="name of the Lease; required when enabled")
    namespace: Label = Field(default="", description="namespace of the Lease; empty for our own")


class Rbac(Section):
    """ClusterRoles that are bound in namespaces of graphs; required in cluster-wide mode."""

    planner_cluster_role_name: Name = Field(default="", description="ClusterRole of planners")
    dgdr_profiling_cluster_role_name: Name = Field(default="", description="ClusterRole of profiling jobs")
    epp_cluster_role_name: Name = Field(default="", description="ClusterRole of endpoint pickers")
