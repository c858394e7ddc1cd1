"""Command lines and configuration of a node's programs: containerd, kubelet, kube-proxy."""

import json
from pathlib import Path
from typing import Any, Final

from tests.node.lacking import PLUGINS
from tests.node.place import FIRST, PODS, Place

PAUSE: Final = "localhost/pause:node"
_CONTAINERD: Final = """
version = 2
root = "/run/{name}/root"
state = "/run/{name}/state"
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


def containerd(home: Path, place: Place) -> list[str | Path]:
    """Writes the configuration of containerd and of pods' network, and returns the command line."""
    (home / "cni").mkdir()
    addresses = {"type": "host-local", "ranges": [[{"subnet": place.pods}]], "routes": [{"dst": "0.0.0.0/0"}]}
    # a network's addresses are remembered by its name
    network = {"cniVersion": "0.4.0", "name": place.name, "plugins": [{**_BRIDGE, "ipam": addresses}, {"type": "loopback"}]}
    (home / "cni" / "10-pods.conflist").write_text(json.dumps(network))
    (home / "containerd.toml").write_text(_CONTAINERD.format(home=home, name=place.name, socket=place.socket, pause=PAUSE, plugins=PLUGINS))
    return ["containerd", "--config", home / "containerd.toml"]


def kubelet(built: Path, home: Path, place: Place, kubeconfig: Path, cgroups: str) -> list[str | Path]:
    """Writes the configuration of the kubelet and returns its command line; `cgroups` is the folder for its pods."""
    configuration: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroups,
        "clusterDNS": [FIRST.address],  # where nobody answers, unless a test does
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": f"unix://{place.socket}",
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
    named = [f"--hostname-override={place.name}", f"--node-ip={place.address}"]
    return [built / "kubelet", f"--config={home / 'kubelet.yaml'}", f"--kubeconfig={kubeconfig}", *folders, *named]


def proxy(built: Path, home: Path, place: Place, kubeconfig: Path) -> list[str | Path]:
    """Writes the configuration of kube-proxy and returns its command line."""
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clusterCIDR": PODS,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "conntrack": {"maxPerCore": 0},
        "hostnameOverride": place.name,
    }
    (home / "proxy.yaml").write_text(json.dumps(configuration))
    return [built / "kube-proxy", f"--config={home / 'proxy.yaml'}"]
