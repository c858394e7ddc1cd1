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
    """Whom we sign for, for how long, and how slowly trust is exchanged."""

    ca_secret_name: Name = Field(default="", description="Secret of the authority; empty for the serving Secret's name with `-ca`")
    trust_config_map_name: Name = Field(
        default="", description="ConfigMap of the published trust; empty for the serving Secret's name with `-trust`"
    )
    lease_name: Name = Field(default="", description="Lease of the provisioner; empty for the serving Secret's name with `-provisioner`")
    validating_configuration: Name = Field(
        default="dynamo-webhooks-validating", description="the ValidatingWebhookConfiguration to keep in trust"
    )
    mutating_configuration: Name = Field(
        default="dynamo-webhooks-mutating", description="the MutatingWebhookConfiguration to keep in trust"
    )
    key_algorithm: Annotated[str, one_of("ECDSA", "RSA")] = Field(
        default="ECDSA", description="keys that are made: P-256, or RSA of 2048 bits"
    )
    trust_file: Text = Field(default="", description="in mode `provided`, more authorities to trust when the Secret has no `ca.crt`")
    take_over_conversion: Switch = Field(
        default=False,
        description="write the conversion of a CRD although it points to another service; false: report it and leave it alone",
    )
    force_adoption: Switch = Field(
        default=False, description="take over the authority of the Go operator although it still has ready pods, which would replace it"
    )
    ca_validity: Annotated[float, span_of(30 * _DAY)] = Field(default=3650 * _DAY, description="how long an authority is valid")
    leaf_validity: Annotated[float, span_of(_DAY)] = Field(default=365 * _DAY, description="how long a serving certificate is valid")
    backdate: Annotated[float, span_of(0, _DAY)] = Field(
        default=_HOUR, description="how far in the past a certificate begins, for clocks that are wrong"
    )
    resync: Annotated[float, span_of(_MINUTE, _HOUR)] = Field(
        default=10 * _MINUTE, description="time between two looks at everything, beside watches"
    )
    settle: Annotated[float, span_of(15, _HOUR)] = Field(
        default=2 * _MINUTE, description="how long every API server is given to see new trust"
    )
    min_roll: Annotated[float, span_of(0, _HOUR)] = Field(
        default=3 * _MINUTE, description="least time for all servers to take a new certificate"
    )
    roll_warn: Annotated[float, span_of(_MINUTE)] = Field(
        default=15 * _MINUTE, description="after so long without it, it is reported as stuck"
    )
    drain: Annotated[float, span_of(10 * _MINUTE, 30 * _DAY)] = Field(default=_DAY, description="how long an old authority stays trusted")
