"""Names of the stored objects, their keys and their annotations."""

from typing import Final, NamedTuple

PREFIX: Final = "webhooks.nvidia.com/"
PHASE: Final = f"{PREFIX}phase"
SINCE: Final = f"{PREFIX}phase-since"
GENERATION: Final = f"{PREFIX}ca-generation"
REASON: Final = f"{PREFIX}rotation-reason"
REQUESTED: Final = f"{PREFIX}rotate-requested"
HANDLED: Final = f"{PREFIX}rotate-handled"
CONDITIONS: Final = f"{PREFIX}conditions"  # the state, for `doctor` and people, in report.py's form
CERT_MANAGER: Final = "cert-manager.io/inject-"  # `inject-ca-from` and its sisters: another injector writes this object

CONVERT: Final = "/convert"  # the path by which a CRD's conversion reaches a server
REVIEW: Final = "v1"  # the version of ConversionReview that servers read

TLS_CERTIFICATE: Final = "tls.crt"
TLS_KEY: Final = "tls.key"
TLS_AUTHORITY: Final = "ca.crt"
AUTHORITY_KEY: Final = "ca.key"  # left by the Go operator, never written by us
CURRENT, CURRENT_KEY = "current.crt", "current.key"
NEXT, NEXT_KEY = "next.crt", "next.key"
PREVIOUS: Final = "previous.crt"
BUNDLE: Final = "bundle.pem"
USABLE: Final = "usable"  # one fingerprint a line


class Names(NamedTuple):
    """The stored objects of one installation; names follow from the serving Secret's unless the configuration gives others."""

    namespace: str
    serving: str = "webhook-server-cert"
    own_authority: str = ""
    own_trust: str = ""
    own_lease: str = ""

    @property
    def authority(self) -> str:
        """The CA Secret."""
        return self.own_authority or f"{self.serving}-ca"

    @property
    def trust(self) -> str:
        """The trust ConfigMap."""
        return self.own_trust or f"{self.serving}-trust"

    @property
    def lease(self) -> str:
        """The Lease of the provisioner."""
        return self.own_lease or f"{self.serving}-provisioner"
