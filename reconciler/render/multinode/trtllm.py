"""TensorRT-LLM on several nodes: the leader starts all processes by MPI, the workers run sshd."""

import shlex
from typing import Final

from ....conversion.lens.protocol import Fields
from ....policies.frameworks import list_words
from ..framework import is_python, join_shell
from ..graph import Graph
from ..merge import object_items, put_named
from ..names import MANAGED_BY, OPERATOR
from ..objects import make_child
from ..settings import Settings
from .role import Role

_KEYS: Final = "/ssh-pk"
PRIVATE: Final = "private.key"
PUBLIC: Final = "private.key.pub"
GENERATED: Final = "<generated>"  # placeholder of each key before the pair is created; not base64, so that it can't be applied by mistake
_PORT: Final = 2222
_HOME: Final = '"$HOME/.ssh'
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
    f'install -m 600 {_KEYS}/{PRIVATE} {_HOME}/id_rsa"',
    f'install -m 644 {_KEYS}/{PUBLIC} {_HOME}/id_rsa.pub"',
    f'install -m 600 {_KEYS}/{PUBLIC} {_HOME}/authorized_keys"',
    f"printf '%s\\n' 'Host *' \"IdentityFile $HOME/.ssh/id_rsa\" 'StrictHostKeyChecking no' 'Port {_PORT}' > {_HOME}/config\"",
)
_HOST_KEYS: Final = ("rsa", "ecdsa", "ed25519")


def change_main(main: Fields, role: Role, volume: str, gpus: int) -> None:
    """Change the main container of one node with its GPUs, in place."""
    mount_keys(main, volume)
    put_named(main, "env", {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "1"})
    steps = _leader(main, role, gpus) if role.leader else _worker()
    main["command"], main["args"] = ["/bin/sh", "-c"], [" && ".join((*_TAKE_KEYS, *steps))]
    if not role.leader:
        set_sshd_probe(main)


def mount_keys(main: Fields, volume: str) -> None:
    """Mount the volume with the keys in a container, in place."""
    main["volumeMounts"] = [*object_items(main.get("volumeMounts")), {"name": volume, "mountPath": _KEYS, "readOnly": True}]


def set_sshd_probe(main: Fields) -> None:
    """Give a worker's container, in place, the only probe that its sshd answers."""
    main.pop("livenessProbe", None)
    main.pop("startupProbe", None)
    figures = {"initialDelaySeconds": 20, "periodSeconds": 20, "timeoutSeconds": 5, "failureThreshold": 10}
    main["readinessProbe"] = {"tcpSocket": {"port": _PORT}, **figures}


def change_pod(spec: Fields, volume: str, secret: str) -> None:
    """Add the volume with the keys of a Secret to a pod spec, in place."""
    put_named(spec, "volumes", {"name": volume, "secret": {"secretName": secret, "defaultMode": 0o644}})


def _leader(main: Fields, role: Role, gpus: int) -> list[str]:
    names = {str(variable["name"]) for variable in object_items(main.get("env")) if variable.get("name")}
    flags = " ".join(f"-x {name}" for name in sorted(names | _PASSED_ON))
    written = main.get("args") or main.get("command") or ()
    launched = join_shell(list_words(main)) if is_python(main) else " ".join(str(word) for word in written)
    run = (
        'mpirun $([ "$(id -u)" = "0" ] && echo --allow-run-as-root) --oversubscribe'
        f" -n {role.nodes * gpus} -H {','.join((role.host, *role.others))} --mca pml ob1"
        f' --mca plm_rsh_args "-p {_PORT} -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa" {flags}'
        f" bash -c {shlex.quote(f'trtllm-llmapi-launch {launched}')}"
    )
    return [*([_wait_for_names(role)] if role.waits_for_names else []), run]


def _wait_for_names(role: Role) -> str:
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


def make_secrets(graph: Graph, settings: Settings) -> list[Fields]:
    """The graph's own Secret, or all graphs' ones, which have no owner: in its namespace and their source. Existing ones don't change."""
    if not settings.ssh_secret or all(member.nodes == 1 for member in graph.members):
        return []
    marks, data = {MANAGED_BY: OPERATOR}, {PRIVATE: GENERATED, PUBLIC: GENERATED}
    if settings.key_per_graph:
        return [make_child("v1", "Secret", own_name(graph.name), labels=marks, owner=graph.object, data=data)]
    places = sorted({graph.namespace, settings.ssh_secret_namespace or graph.namespace})
    return [make_child("v1", "Secret", settings.ssh_secret, place, labels=marks, data=data) for place in places]


def own_name(graph: str) -> str:
    """The Secret of a graph that shares its keys with no other."""
    return f"{graph}-mpi-ssh"
