"""An installation as a configuration describes it."""

from datetime import timedelta

from dynamo_webhooks.api.operator.configuration import OperatorConfiguration
from dynamo_webhooks.api.operator.scope import Namespace, Operator
from dynamo_webhooks.api.operator.server import Certificates, Server, Webhook
from dynamo_webhooks.certs.authority import ECDSA, RSA
from dynamo_webhooks.certs.installation import Installation, installation
from dynamo_webhooks.certs.state import TargetKind, Timings
from tests.rows import run_each


def _installed(webhook: Webhook, certificates: Certificates | None = None, restricted: str = "") -> Installation:
    config = OperatorConfiguration(server=Server(webhook=webhook), operator=Operator("ns"), namespace=Namespace(restricted))
    return installation(config if certificates is None else OperatorConfiguration(server=config.server, certificates=certificates))


@run_each(
    ("written", "mode"),
    [
        ("auto", "managed"),
        ("manual", "provided"),
        ("managed", "managed"),
        ("provided", "provided"),
        ("external-injection", "external-injection"),
    ],
)
def test_old_words_for_certificate_modes_are_mapped(written: str, mode: str) -> None:
    assert _installed(Webhook(cert_provision_mode=written)).mode == mode


def test_names_follow_the_serving_secret_unless_given() -> None:
    names = _installed(Webhook(secret_name="s")).names  # noqa: S106 - the name of an object
    assert (names.serving, names.authority, names.trust, names.lease) == ("s", "s-ca", "s-trust", "s-provisioner")
    given = _installed(Webhook(), Certificates(ca_secret_name="a", trust_config_map_name="t", lease_name="l")).names  # noqa: S106 - as above
    assert (given.authority, given.trust, given.lease) == ("a", "t", "l")


def test_timings_are_those_of_the_configuration_and_have_its_defaults() -> None:
    assert _installed(Webhook()).timings == Timings()
    timings = _installed(Webhook(), Certificates(ca_validity=3e7, leaf_validity=2e7, settle=20.0)).timings
    assert timings == Timings(authority_life=timedelta(seconds=3e7), leaf_life=timedelta(seconds=2e7), settle=timedelta(seconds=20))


def test_keys_are_of_the_kind_that_the_configuration_names() -> None:
    assert _installed(Webhook()).profile.key_kind == ECDSA
    assert _installed(Webhook(), Certificates(key_algorithm="RSA")).profile.key_kind == RSA


def test_an_installation_for_one_namespace_has_no_definitions() -> None:
    assert {kind for kind, _ in _installed(Webhook(), restricted="a").targets} == {TargetKind.MUTATING, TargetKind.VALIDATING}
    assert {kind for kind, _ in _installed(Webhook()).targets} == set(TargetKind)
