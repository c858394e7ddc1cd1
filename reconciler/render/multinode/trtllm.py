"""TensorRT-LLM on several nodes: the leader starts all processes by MPI, the workers run sshd."""

from __future__ import annotations

from typing import Final

from ....conversion.lens.protocol import Fields
from ..flags import is_python, join_shell, quote_line
from ..merge import object_items, put_named
from .role import Role

KEYS: Final = "/ssh-pk"
PRIVATE: Final = "private.key"
PUBLIC: Final = "private.key.pub"
_PORT: Final = 2222
_HOME: Final = '"$HOME/.ssh'
_ENV: Final = {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "1"}
_PASSED_ON: Final = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "MODEL_PATH",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "HF_ENDPOINT",
        "TOKENIZERS_PARALLELISM",
        "NCCL_DEBUG",
        "NCCL_IB_DISABLE",
        "NCCL_P2P_DISABLE",
        "TENSORRT_LLM_CACHE_DIR",
        "HF_HOME",
        "TRANSFORMERS_CACHE",
        "HF_DATASETS_CACHE",
        "PATH",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "HOME",
        "USER",
        "TRTLLM_USE_UCX_KVCACHE",
    }
)
_TAKE_KEYS: Final = (
    f'install -d -m 700 {_HOME}"',
    f'install -m 600 {KEYS}/{PRIVATE} {_HOME}/id_rsa"',
    f'install -m 644 {KEYS}/{PUBLIC} {_HOME}/id_rsa.pub"',
    f'install -m 600 {KEYS}/{PUBLIC} {_HOME}/authorized_keys"',
    f"printf '%s\\n' 'Host *' \"IdentityFile $HOME/.ssh/id_rsa\" 'StrictHostKeyChecking no' 'Port {_PORT}' > {_HOME}/config\"",
)
_HOST_KEYS: Final = ("rsa", "ecdsa", "ed25519")


def change_main(main: Fields, role: Role, volume: str, gpus: int) -> None:
    """Change the main container of one node with its GPUs, in place."""
    main["volumeMounts"] = [*object_items(main.get("volumeMounts")), {"name": volume, "mountPath": KEYS, "readOnly": True}]
    put_named(main, "env", dict(_ENV))
    steps = _leader(main, role, gpus) if role.leader else _worker()
    main["command"], main["args"] = ["/bin/sh", "-c"], [" && ".join((*_TAKE_KEYS, *steps))]
    if not role.leader:
        main.pop("livenessProbe", None)
        main.pop("startupProbe", None)
        figures = {"initialDelaySeconds": 20, "periodSeconds": 20, "timeoutSeconds": 5, "failureThreshold": 10}
        main["readinessProbe"] = {"tcpSocket": {"port": _PORT}, **figures}


def change_pod(spec: Fields, volume: str, secret: str) -> None:
    """Add the volume with the keys of a Secret to a pod spec, in place."""
    put_named(spec, "volumes", {"name": volume, "secret": {"secretName": secret, "defaultMode": 0o644}})


def _leader(main: Fields, role: Role, gpus: int) -> list[str]:
    names = {str(one["name"]) for one in object_items(main.get("env")) if one.get("name")}
    told = " ".join(f"-x {name}" for name in sorted(names | _PASSED_ON))
    run = (
        'mpirun $([ "$(id -u)" = "0" ] && echo --allow-run-as-root) --oversubscribe'
        f" -n {role.nodes * gpus} -H {','.join((role.host, *role.others))} --mca pml ob1"
        f' --mca plm_rsh_args "-p {_PORT} -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa" {told}'
        f" bash -c {quote_line(f'trtllm-llmapi-launch {_original(main)}')}"
    )
    return [*([_named(role)] if role.waits_for_names else []), run]


def _original(main: Fields) -> str:
    command, args = main.get("command") or [], main.get("args") or []
    if is_python(main):
        return join_shell([*command, *args])
    return " ".join(str(one) for one in args or command)


def _named(role: Role) -> str:
    """A command that waits until all workers' names resolve: mpirun fails at the first that doesn't."""
    return (
        f"{{ deadline=$(( $(date +%s) + 300 )); for host in {' '.join(role.others)}; do "
        'until getent hosts "$host" > /dev/null; do '
        'if [ "$(date +%s)" -ge "$deadline" ]; then echo "no address of $host after 300 s" >&2; exit 1; fi; sleep 2; done; done; }'
    )


def _worker() -> list[str]:
    folder = "$HOME/.ssh/host_keys"
    made = f'"{folder}/ssh_host_${{kind}}_key"'
    settings = [
        f"Port {_PORT}",
        *(f"HostKey {folder}/ssh_host_{kind}_key" for kind in _HOST_KEYS),
        "PidFile $HOME/.ssh/sshd.pid",
        "StrictModes no",
        "PermitRootLogin yes",
        "PasswordAuthentication no",
        "PubkeyAuthentication yes",
        "AuthorizedKeysFile $HOME/.ssh/authorized_keys",
    ]
    lines = " ".join(f'"{line}"' for line in settings)
    return [
        f'install -d -m 700 "{folder}"',
        f"for kind in {' '.join(_HOST_KEYS)}; do [ -f {made} ] || ssh-keygen -q -t $kind -N '' -f {made} || exit 1; done",
        f"printf '%s\\n' {lines} > {_HOME}/sshd_config\"",
        f'/usr/sbin/sshd -D -f {_HOME}/sshd_config"',
    ]
