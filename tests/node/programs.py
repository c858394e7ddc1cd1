"""Command lines and configuration of a node's programs: containerd, kubelet, kube-proxy."""

import json
from pathlib import Path
from typing import Any, Final

from tests.node.lacking import PLUGINS

PAUSE: Final = "localhost/pause:node"
PODS: Final = "10.78.0.0/24"  # the addresses of pods
SERVICES: Final = "10.79.0.0/24"
_CONTAINERD: Final = """
version = 2
root = "{home}/containerd"
state = "/run/containerd-of-tests"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{home}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""
_BRIDGE: Final = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True}
_ROUTED: Final = {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}


def containerd(home: Path, socket: str) -> list[str | Path]:
    """Writes the configuration of containerd and of pods' network, and returns the command line."""
    (home / "cni").mkdir(parents=True)
    network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [{**_BRIDGE, "ipam": _ROUTED}, {"type": "loopback"}]}
    (home / "cni" / "10-pods.conflist").write_text(json.dumps(network))
    (home / "containerd.toml").write_text(_CONTAINERD.format(home=home, socket=socket, pause=PAUSE, plugins=PLUGINS))
    return ["containerd", "--config", home / "containerd.toml"]


def kubelet(built: Path, home: Path, name: str, address: str, kubeconfig: Path, socket: str, cgroups: str) -> list[str | Path]:
    """Writes the configuration of the kubelet and returns its command line; `cgroups` is the folder for its pods."""
    configuration: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroups,
        "clusterDNS": ["10.79.0.10"],  # where nobody answers: pods name no host
        "containerRuntimeEndpoint": f"unix://{socket}",
        "enforceNodeAllocatable": [],
        "evictionHard": {"memory.available": "10Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "0%"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "registerWithTaints": [],
        "resolvConf": "",
        "volumePluginDir": str(home / "plugins"),
    }
    (home / "kubelet.yaml").write_text(json.dumps(configuration))
    folders = [f"--root-dir={home / 'kubelet'}", f"--cert-dir={home / 'kubelet-certs'}"]
    named = [f"--hostname-override={name}", f"--node-ip={address}"]
    return [built / "kubelet", f"--config={home / 'kubelet.yaml'}", f"--kubeconfig={kubeconfig}", *folders, *named]


def proxy(built: Path, home: Path, name: str, kubeconfig: Path) -> list[str | Path]:
    """Writes the configuration of kube-proxy and returns its command line."""
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clusterCIDR": PODS,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "conntrack": {"maxPerCore": 0},
        "hostnameOverride": name,
    }
    (home / "proxy.yaml").write_text(json.dumps(configuration))
    return [built / "kube-proxy", f"--config={home / 'proxy.yaml'}"]
