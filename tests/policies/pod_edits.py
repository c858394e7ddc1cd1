"""Edits of a good pod spec, each of which an API server refuses or takes; `tests/cluster` asks one."""

import copy
from collections.abc import Callable
from typing import Any, Final

Node = dict[str, Any]
Edit = Callable[[Node, Node, Node], object]  # of the spec, its first container and its init container

GOOD: Final[Node] = {
    "volumes": [{"name": "models", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "settings"}}],
    "initContainers": [{"name": "load", "image": "example/load:1", "volumeMounts": [{"name": "models", "mountPath": "/models"}]}],
    "containers": [
        {
            "name": "server",
            "image": "example/server:1",
            "ports": [{"name": "http", "containerPort": 8000}],
            "env": [{"name": "A", "value": "b"}],
            "resources": {"limits": {"cpu": "2", "example.com/nic": "1"}, "requests": {"cpu": "1"}},
            "livenessProbe": {"httpGet": {"path": "/live", "port": "http"}, "periodSeconds": 5},
            "volumeMounts": [{"name": "models", "mountPath": "/models"}],
        },
        {"name": "side", "image": "example/side:1"},
    ],
}


def _probe(**fields: Any) -> Edit:
    return lambda _, container, __: container.update(readinessProbe=fields)


def _port(**fields: Any) -> Edit:
    return lambda _, container, __: container["ports"].append({"containerPort": 9000, **fields})


def _env(**fields: Any) -> Edit:
    return lambda _, container, __: container["env"].append({"name": "B", **fields})


def _resources(limits: Node, requests: Node) -> Edit:
    return lambda _, container, __: container.update(resources={"limits": limits, "requests": requests})


def _mount(**fields: Any) -> Edit:
    return lambda _, container, __: container["volumeMounts"].append({"name": "models", "mountPath": "/more", **fields})


def _volume(**fields: Any) -> Edit:
    return lambda spec, _, __: spec["volumes"].append({"name": "more", **fields})


def _pod(**fields: Any) -> Edit:
    return lambda spec, _, __: spec.update(fields)


def _main(**fields: Any) -> Edit:
    return lambda _, container, __: container.update(fields)


def _init(**fields: Any) -> Edit:
    return lambda _, __, container: container.update(fields)


def _toleration(**fields: Any) -> Edit:
    return _pod(tolerations=[fields])


def _affinity(**requirement: Any) -> Edit:
    return _terms({"matchExpressions": [requirement]})


def _field(**requirement: Any) -> Edit:
    return _terms({"matchFields": [requirement]})


def _terms(term: Node) -> Edit:
    return _pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}})


def _apart(**term: Any) -> Edit:
    return _pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def _spread(**fields: Any) -> Edit:
    return _pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}])


def _claim(used: Node, **source: Any) -> Edit:
    def edit(spec: Node, container: Node, _: Node) -> None:
        spec["resourceClaims"] = [{"name": "a", **source}]
        container["resources"]["claims"] = [used]

    return edit


_OWN_CLAIM: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TCP: Final = {"tcpSocket": {"port": 8000}}
TAKEN: Final[dict[str, Edit]] = {
    "nothing": lambda *_: None,
    "probe": _probe(**TCP),
    "probe by name": _probe(tcpSocket={"port": "http"}),
    "zero period": _probe(**TCP, periodSeconds=0),
    "successes of readiness": _probe(**TCP, successThreshold=3),
    "grace of liveness": _main(livenessProbe={**TCP, "terminationGracePeriodSeconds": 5}),
    "probe of sidecar": _init(readinessProbe=TCP, restartPolicy="Always"),
    "hook": _main(lifecycle={"preStop": {"exec": {"command": ["true"]}}}),
    "hook that sleeps": _main(lifecycle={"preStop": {"sleep": {"seconds": 5}}}),
    "port": _port(name="metrics"),
    "port of 15": _port(name="a" * 15),
    "host port": _port(hostPort=80),
    "host network": _pod(hostNetwork=True),
    "variable": _env(value="x"),
    "variable with dot": _env(name="a.b-c"),
    "variable from label": _env(valueFrom={"fieldRef": {"fieldPath": "metadata.labels['a']"}}),
    "variables from": _main(envFrom=[{"secretRef": {"name": "a"}}]),
    "request as limit": _resources({"example.com/nic": "2"}, {"example.com/nic": "2"}),
    "storage": _resources({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "1Mi"}),
    "huge pages": _resources({"hugepages-2Mi": "4Mi", "memory": "1Gi"}, {}),
    "mount": _mount(),
    "mount below": _mount(subPath="a/b"),
    "volume of nothing": _volume(),
    "volume": _volume(secret={"secretName": "a"}),
    "pull policy": _main(imagePullPolicy="Never"),
    "node selector": _pod(nodeSelector={"a": "b"}),
    "toleration": _toleration(key="a", operator="Exists", effect="NoSchedule"),
    "toleration of all": _toleration(operator="Exists"),
    "toleration of seconds": _toleration(key="a", tolerationSeconds=5, effect="NoExecute"),
    "node affinity": _affinity(key="a", operator="In", values=["b"]),
    "node affinity above": _affinity(key="a", operator="Gt", values=["1"]),
    "node affinity of field": _field(key="metadata.name", operator="In", values=["a"]),
    "pods apart": _apart(topologyKey="zone", labelSelector={"matchLabels": {"a": "b"}}),
    "spread": _spread(),
    "spread over few": _spread(minDomains=2),
    "claim": _claim({"name": "a"}, resourceClaimName="b"),
    "names by DNS": _pod(dnsPolicy="None", dnsConfig={"nameservers": ["10.0.0.1"], "searches": ["a.example."], "options": [{"name": "x"}]}),
    "host alias": _pod(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a.b"]}]),
    "own users": _pod(hostUsers=False),
    "readiness gate": _pod(readinessGates=[{"conditionType": "a/b"}]),
    "gate": _pod(schedulingGates=[{"name": "a/b"}]),
    "deadline": _pod(activeDeadlineSeconds=5),
    "user": _pod(securityContext={"runAsUser": 0, "fsGroupChangePolicy": "OnRootMismatch", "supplementalGroups": [5]}),
    "profile": _pod(securityContext={"seccompProfile": {"type": "RuntimeDefault"}}),
    "parameter of the kernel": _pod(securityContext={"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}),
    "privileged": _main(securityContext={"privileged": True}),
    "volume: path on the host": _volume(hostPath={"path": "/a", "type": "Directory"}),
    "volume: items": _volume(configMap={"name": "a", "items": [{"key": "k", "path": "p/q", "mode": 256}]}),
    "volume: facts": _volume(downwardAPI={"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}),
    "volume: share": _volume(nfs={"server": "a", "path": "/b"}),
    "volume: claim of its own": _volume(ephemeral={"volumeClaimTemplate": {"spec": _OWN_CLAIM}}),
    "variable of resource": _env(valueFrom={"resourceFieldRef": {"resource": "limits.cpu"}}),
}
REFUSED: Final[dict[str, Edit]] = {
    "probe without handler": _probe(periodSeconds=5),
    "empty probe": _probe(),
    "probe with two handlers": _probe(**TCP, exec={"command": ["true"]}),
    "probe by long name": _probe(tcpSocket={"port": "a-very-long-port-name"}),
    "probe by number as text": _probe(tcpSocket={"port": "8000"}),
    "probe of port 0": _probe(httpGet={"port": 0}),
    "probe of port 70000": _probe(grpc={"port": 70_000}),
    "probe by empty program": _probe(exec={}),
    "probe of unknown scheme": _probe(httpGet={"port": 1, "scheme": "http"}),
    "negative period": _probe(**TCP, periodSeconds=-1),
    "grace of readiness": _probe(**TCP, terminationGracePeriodSeconds=5),
    "successes of liveness": _main(livenessProbe={**TCP, "successThreshold": 2}),
    "zero grace of liveness": _main(livenessProbe={**TCP, "terminationGracePeriodSeconds": 0}),
    "negative grace of startup": _main(startupProbe={**TCP, "terminationGracePeriodSeconds": -1}),
    "probe of init container": _init(readinessProbe=TCP),
    "empty hook": _main(lifecycle={"preStop": {}}),
    "two hooks": _main(lifecycle={"postStart": {"exec": {"command": ["true"]}, **TCP}}),
    "hook of init container": _init(lifecycle={"preStop": {"exec": {"command": ["true"]}}}),
    "port of 16": _port(name="a" * 16),
    "port in capitals": _port(name="Metrics"),
    "port with underscore": _port(name="my_port"),
    "port of digits": _port(name="9000"),
    "port with two dashes": _port(name="a--b"),
    "port that ends with dash": _port(name="a-"),
    "port twice": _port(name="http"),
    "port 0": _port(containerPort=0),
    "port 65536": _port(containerPort=65_536),
    "negative host port": _port(hostPort=-1),
    "unknown protocol": _port(protocol="tcp"),
    "variable with equals": _env(name="a=b"),
    "variable without name": _env(name=""),
    "variable from two": _env(valueFrom={"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "a", "key": "b"}}),
    "variable with both": _env(value="x", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
    "variable from nothing": _env(valueFrom={}),
    "variable from unknown field": _env(valueFrom={"fieldRef": {"fieldPath": "metadata.nam"}}),
    "variable from labels": _env(valueFrom={"fieldRef": {"fieldPath": "metadata.labels"}}),
    "variable from secret without key": _env(valueFrom={"secretKeyRef": {"name": "a", "key": ""}}),
    "variable from secret without name": _env(valueFrom={"secretKeyRef": {"name": "", "key": "b"}}),
    "variable from key with slash": _env(valueFrom={"configMapKeyRef": {"name": "a", "key": "b/c"}}),
    "variables from nothing": _main(envFrom=[{}]),
    "variables from two": _main(envFrom=[{"secretRef": {"name": "a"}, "configMapRef": {"name": "b"}}]),
    "variables from no name": _main(envFrom=[{"secretRef": {"name": ""}}]),
    "request without limit": _resources({}, {"example.com/nic": "1"}),
    "request below limit": _resources({"example.com/nic": "2"}, {"example.com/nic": "1"}),
    "half a device": _resources({"example.com/nic": "500m"}, {}),
    "request above limit": _resources({"cpu": "1"}, {"cpu": "2"}),
    "unknown resource": _resources({"gpu": "1"}, {}),
    "negative resource": _resources({"memory": "-1Gi"}, {}),
    "huge pages without limit": _resources({"memory": "1Gi"}, {"hugepages-2Mi": "4Mi"}),
    "mount without volume": _mount(name="model"),
    "mount of no name": _mount(name=""),
    "mount at nothing": _mount(mountPath=""),
    "mount above": _mount(subPath="../a"),
    "mount at root": _mount(subPath="/a"),
    "mount by two paths": _mount(subPath="a", subPathExpr="$(A)"),
    "unknown propagation": _mount(mountPropagation="Both"),
    "mount of init container": _init(volumeMounts=[{"name": "x", "mountPath": "/x"}]),
    "volume of two": _volume(secret={"secretName": "a"}, emptyDir={}),
    "volume in capitals": _volume(name="More", emptyDir={}),
    "volume of no claim": _volume(persistentVolumeClaim={"claimName": ""}),
    "volume of no secret": _volume(secret={}),
    "volume of no path": _volume(hostPath={"path": ""}),
    "volume of no map": _volume(configMap={}),
    "container in capitals": lambda spec, *_: spec["containers"][1].update(name="Side"),
    "container of 64": lambda spec, *_: spec["containers"][1].update(name="a" * 64),
    "container twice": lambda spec, *_: spec["initContainers"][0].update(name="side"),
    "image with blank": _main(image=" example/server:1"),
    "unknown pull policy": _main(imagePullPolicy="IfNotThere"),
    "unknown message policy": _main(terminationMessagePolicy="Log"),
    "unknown restart policy": _pod(restartPolicy="always"),
    "unknown DNS policy": _pod(dnsPolicy="Cluster"),
    "account in capitals": _pod(serviceAccountName="Me"),
    "hostname with dot": _pod(hostname="a.b"),
    "node selector with blank": _pod(nodeSelector={"a": "b c"}),
    "toleration without key": _toleration(value="a"),
    "toleration with value": _toleration(key="a", operator="Exists", value="b"),
    "toleration of unknown effect": _toleration(key="a", effect="NoStart"),
    "toleration of seconds of all": _toleration(key="a", tolerationSeconds=5, effect="NoSchedule"),
    "toleration of unknown operator": _toleration(key="a", operator="In"),
    "container without image": lambda spec, *_: spec["containers"][1].pop("image"),
    "init container without image": lambda _, __, container: container.pop("image"),
    "container without name": lambda spec, *_: spec["containers"][1].update(name=""),
    "node affinity without values": _affinity(key="a", operator="In"),
    "node affinity above two": _affinity(key="a", operator="Gt", values=["1", "2"]),
    "node affinity of presence with values": _affinity(key="a", operator="Exists", values=["b"]),
    "node affinity by unknown operator": _affinity(key="a", operator="Is", values=["b"]),
    "node affinity by wrong key": _affinity(key="a b", operator="Exists"),
    "node affinity of nothing": _pod(
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    ),
    "node affinity of two names": _field(key="metadata.name", operator="In", values=["a", "b"]),
    "node affinity of other field": _field(key="metadata.uid", operator="In", values=["a"]),
    "pods apart by nothing": _apart(topologyKey=""),
    "pods apart by wrong label": _apart(topologyKey="zone", labelSelector={"matchLabels": {"a": "b c"}}),
    "pods apart by keys alone": _apart(topologyKey="zone", matchLabelKeys=["a"]),
    "spread of 0": _spread(maxSkew=0),
    "spread by unknown word": _spread(whenUnsatisfiable="Wait"),
    "spread over few of any": _spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
    "spread by unknown policy": _spread(nodeTaintsPolicy="Ask"),
    "claim of two": _claim({"name": "a"}, resourceClaimName="b", resourceClaimTemplateName="c"),
    "claim of none": _claim({"name": "a"}),
    "claim of no name": _claim({"name": "a"}, resourceClaimName=""),
    "claim that isn't there": _claim({"name": "b"}, resourceClaimName="b"),
    "no names by DNS": _pod(dnsPolicy="None"),
    "names by text": _pod(dnsConfig={"nameservers": ["dns"]}),
    "names below text": _pod(dnsConfig={"searches": ["two words"]}),
    "host alias of text": _pod(hostAliases=[{"ip": "a", "hostnames": ["a.b"]}]),
    "host alias of wrong name": _pod(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a_b"]}]),
    "own users on the host": _pod(hostUsers=False, hostPID=True),
    "one space of processes on the host": _pod(hostPID=True, shareProcessNamespace=True),
    "empty preemption": _pod(preemptionPolicy=""),
    "unknown system": _pod(os={"name": "plan9"}),
    "readiness gate in words": _pod(readinessGates=[{"conditionType": "a b"}]),
    "gate on a node": _pod(schedulingGates=[{"name": "a/b"}], nodeName="n"),
    "node in words": _pod(nodeName="a node"),
    "deadline at once": _pod(activeDeadlineSeconds=0),
    "container for debugging": _pod(ephemeralContainers=[{"name": "debug", "image": "a"}]),
    "negative user": _pod(securityContext={"runAsUser": -1}),
    "unknown change of groups": _pod(securityContext={"fsGroupChangePolicy": "Never"}),
    "unknown profile": _pod(securityContext={"seccompProfile": {"type": "Strict"}}),
    "local profile without file": _pod(securityContext={"seccompProfile": {"type": "Localhost"}}),
    "default profile with file": _pod(securityContext={"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}}),
    "parameter in words": _pod(securityContext={"sysctls": [{"name": "Kernel shm", "value": "1"}]}),
    "privileged without rights": _main(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
    "administrator without rights": _main(securityContext={"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False}),
    "unknown view of processes": _main(securityContext={"procMount": "All"}),
    "device": _main(volumeDevices=[{"name": "models", "devicePath": "/dev/a"}]),
    "volume: path above the host": _volume(hostPath={"path": "/a/../b"}),
    "volume: path of unknown type": _volume(hostPath={"path": "/a", "type": "Folder"}),
    "volume: items above": _volume(configMap={"name": "a", "items": [{"key": "k", "path": "../p"}]}),
    "volume: items without key": _volume(configMap={"name": "a", "items": [{"key": "", "path": "p"}]}),
    "volume: items of mode 1000": _volume(secret={"secretName": "a", "defaultMode": 1000}),
    "volume: facts of nothing": _volume(downwardAPI={"items": [{"path": "p"}]}),
    "volume: facts of the node": _volume(downwardAPI={"items": [{"path": "p", "fieldRef": {"fieldPath": "spec.nodeName"}}]}),
    "volume: negative size": _volume(emptyDir={"sizeLimit": "-1Gi"}),
    "volume: share at relative path": _volume(nfs={"server": "a", "path": "b"}),
    "volume: driver without name": _volume(csi={"driver": ""}),
    "volume: claim of its own without size": _volume(ephemeral={"volumeClaimTemplate": {"spec": {**_OWN_CLAIM, "resources": {}}}}),
    "volume: claim of its own by name": _volume(ephemeral={"volumeClaimTemplate": {"metadata": {"name": "a"}, "spec": _OWN_CLAIM}}),
    "volume: source without registry": _volume(flexVolume={"driver": ""}),
    "mount, read-only in an unknown way": _mount(readOnly=True, recursiveReadOnly="Yes"),
    "variable of unknown resource": _env(valueFrom={"resourceFieldRef": {"resource": "limits.gpu"}}),
}
EDITS: Final = TAKEN | REFUSED


def edited(*names: str) -> Node:
    """The pod spec with edits."""
    spec = copy.deepcopy(GOOD)
    for name in names:
        EDITS[name](spec, spec["containers"][0], spec["initContainers"][0])
    return spec
