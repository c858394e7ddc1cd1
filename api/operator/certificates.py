"""Section `certificates`: names and timings of the certificate provisioner; the Go operator has no such section."""

from typing import Annotated, Final

from .section import key, section
from .values import Name, Switch, Text, one_of, span_of

_MINUTE: Final = 60.0
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


@section
class Certificates:
    """Names of objects, lifetimes of certificates and times of a rotation."""

    ca_secret_name: Name = key(default="", text="Secret of the authority; default: `secretName` with `-ca`")
    trust_config_map_name: Name = key(default="", text="ConfigMap of the published trust; default: `secretName` with `-trust`")
    lease_name: Name = key(default="", text="Lease of the provisioner; default: `secretName` with `-provisioner`")
    validating_configuration: Name = key(default="dynamo-webhooks-validating", text="ValidatingWebhookConfiguration that gets the trust")
    mutating_configuration: Name = key(default="dynamo-webhooks-mutating", text="MutatingWebhookConfiguration that gets the trust")
    key_algorithm: Annotated[str, one_of("ECDSA", "RSA")] = key(default="ECDSA", text="new keys: P-256, or RSA of 2048 bits")
    trust_file: Text = key(default="", text="in mode `provided`, authorities to trust if the Secret has no `ca.crt`")
    take_over_conversion: Switch = key(
        default=False,
        text="change the conversion of CRDs that name another Service; false: only report them",
    )
    force_adoption: Switch = key(default=False, text="adopt the Go operator's authority although its ready pods would replace it")
    ca_validity: Annotated[float, span_of(30 * _DAY, 36500 * _DAY)] = key(default=3650 * _DAY, text="lifetime of an authority")
    leaf_validity: Annotated[float, span_of(_DAY, 36500 * _DAY)] = key(default=365 * _DAY, text="lifetime of a serving certificate")
    backdate: Annotated[float, span_of(0, _DAY)] = key(default=_HOUR, text="how far in the past certificates begin, for clock skew")
    resync: Annotated[float, span_of(_MINUTE, _HOUR)] = key(default=10 * _MINUTE, text="time between full reads, besides watches")
    settle: Annotated[float, span_of(15, _HOUR)] = key(default=2 * _MINUTE, text="time for API servers to see new trust")
    min_roll: Annotated[float, span_of(0, _HOUR)] = key(default=3 * _MINUTE, text="minimum time for servers to take a new certificate")
    roll_warn: Annotated[float, span_of(_MINUTE, _DAY)] = key(default=15 * _MINUTE, text="time after which a rotation is reported as stuck")
    drain: Annotated[float, span_of(10 * _MINUTE, 30 * _DAY)] = key(default=_DAY, text="time that an old authority stays trusted")
