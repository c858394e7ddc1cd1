"""Section `certificates`: names and timings of the certificate provisioner; the Go operator has no such section."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.values import Name, Switch, Text, one_of, span_of

_MINUTE: Final = 60.0
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


class Certificates(Section):
    """Names of objects, lifetimes of certificates and times of a rotation."""

    ca_secret_name: Name = Field(default="", description="Secret of the authority; default: `secretName` with `-ca`")
    trust_config_map_name: Name = Field(default="", description="ConfigMap of the published trust; default: `secretName` with `-trust`")
    lease_name: Name = Field(default="", description="Lease of the provisioner; default: `secretName` with `-provisioner`")
    validating_configuration: Name = Field(
        default="dynamo-webhooks-validating", description="ValidatingWebhookConfiguration that gets the trust"
    )
    mutating_configuration: Name = Field(default="dynamo-webhooks-mutating", description="MutatingWebhookConfiguration that gets the trust")
    key_algorithm: Annotated[str, one_of("ECDSA", "RSA")] = Field(default="ECDSA", description="new keys: P-256, or RSA of 2048 bits")
    trust_file: Text = Field(default="", description="in mode `provided`, authorities to trust if the Secret has no `ca.crt`")
    take_over_conversion: Switch = Field(
        default=False,
        description="change the conversion of CRDs that name another Service; false: only report them",
    )
    force_adoption: Switch = Field(default=False, description="adopt the Go operator's authority although its ready pods would replace it")
    ca_validity: Annotated[float, span_of(30 * _DAY)] = Field(default=3650 * _DAY, description="lifetime of an authority")
    leaf_validity: Annotated[float, span_of(_DAY)] = Field(default=365 * _DAY, description="lifetime of a serving certificate")
    backdate: Annotated[float, span_of(0, _DAY)] = Field(
        default=_HOUR, description="how far in the past certificates begin, for clock skew"
    )
    resync: Annotated[float, span_of(_MINUTE, _HOUR)] = Field(default=10 * _MINUTE, description="time between full reads, besides watches")
    settle: Annotated[float, span_of(15, _HOUR)] = Field(default=2 * _MINUTE, description="time for API servers to see new trust")
    min_roll: Annotated[float, span_of(0, _HOUR)] = Field(
        default=3 * _MINUTE, description="minimum time for servers to take a new certificate"
    )
    roll_warn: Annotated[float, span_of(_MINUTE)] = Field(
        default=15 * _MINUTE, description="time after which a rotation is reported as stuck"
    )
    drain: Annotated[float, span_of(10 * _MINUTE, 30 * _DAY)] = Field(default=_DAY, description="time that an old authority stays trusted")
