"""Command lines of the control plane's programs, and the keys and tokens that they read. They are started by `harness.py`."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


def write_keys(home: Path, tokens: Mapping[str, tuple[str, str]]) -> None:
    """Writes the key of service accounts and the token file; `tokens` are user -> (token, group)."""
    (home / "certs").mkdir(exist_ok=True)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    (home / "accounts.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    (home / "tokens.csv").write_text("".join(f'{token},{name},{name},"{group}"\n' for name, (token, group) in tokens.items()))


def etcd(assets: Path, home: Path, client: int, peer: int) -> list[str | Path]:
    """The command line of etcd, which may forget everything when the machine stops."""
    clients, peers = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return [
        assets / "etcd",
        "--unsafe-no-fsync",
        f"--data-dir={home / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
    ]


def api_server(assets: Path, home: Path, etcd: int, address: str, port: int, *more: str) -> list[str | Path]:
    """The command line of kube-apiserver with a certificate that it makes itself, tokens and RBAC; pods get no service account.

    Each of the flags in `more` replaces one of the same name here.
    """
    flags = [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        f"--bind-address={address}",
        f"--advertise-address={address}",
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        f"--cert-dir={home / 'certs'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={home / 'accounts.key'}",
        f"--service-account-signing-key-file={home / 'accounts.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--enable-aggregator-routing=true",  # webhooks that name a service are called at its endpoints: no cluster IP leads anywhere here
        "--authorization-mode=RBAC",
        f"--token-auth-file={home / 'tokens.csv'}",
        "--allow-privileged=true",
        "--disable-admission-plugins=ServiceAccount",
    ]
    return [assets / "kube-apiserver", *_replaced(flags, more)]


def _replaced(flags: Iterable[str], more: Iterable[str]) -> Iterable[str]:
    return {flag.partition("=")[0]: flag for flag in (*flags, *more)}.values()


def controllers(assets: Path, home: Path, port: int, *more: str) -> list[str | Path]:
    """The command line of kube-controller-manager with all its controllers, alone, so that nothing needs electing; `more` as above."""
    flags = [
        f"--kubeconfig={home / 'kubeconfig'}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={home / 'certs'}",
        f"--service-account-private-key-file={home / 'accounts.key'}",
        "--leader-elect=false",
        "--controllers=*,-endpoints-controller",  # `endpoints.py` writes them where they are read
        "--use-service-account-credentials=false",
        "--horizontal-pod-autoscaler-sync-period=1s",
        "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
        "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
    ]
    return [assets / "kube-controller-manager", *_replaced(flags, more)]
