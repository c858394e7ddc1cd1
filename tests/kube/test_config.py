"""How an API server is found, and the errors when it isn't."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.kube.config import ConfigError, find_context_namespace, find_own_namespace, find_replica_name, load_config
from tests.rows import run_each

SERVICE = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "account"
    folder.mkdir()
    for name, content in {"token": "first", "ca.crt": "a certificate", "namespace": "from-file\n"}.items():
        (folder / name).write_text(content)
    return folder


def kubeconfig(path: Path, *, server: str = "https://one.example", user: dict[str, Any] | None = None) -> Path:
    contexts = [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("one", "two")]
    clusters = [{"name": "one", "cluster": {"server": server}}, {"name": "two", "cluster": {"server": "https://two.example"}}]
    content = {
        "current-context": "one",
        "contexts": contexts,
        "clusters": clusters,
        "users": [{"name": "me", "user": user or {"token": "t"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


async def token(configuration: Any) -> str:
    return str((await configuration.auth_settings())["BearerToken"]["value"])


async def test_a_pod_uses_its_own_files(account: Path) -> None:
    configuration = await load_config(environ=SERVICE, account=account)
    assert configuration.host == "https://[fd00::1]:443"
    assert configuration.ssl_ca_cert == str(account / "ca.crt")
    assert await token(configuration) == "bearer first"


async def test_a_pods_token_is_read_again_when_it_may_have_been_replaced(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import datetime, timedelta

    configuration = await load_config(environ=SERVICE, account=account)
    (account / "token").write_text("second")
    assert await token(configuration) == "bearer first"

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(minutes=2)

    monkeypatch.setattr("kubernetes.aio.config.incluster_config.datetime.datetime", Later)
    assert await token(configuration) == "bearer second"


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
async def test_a_file_that_a_pod_lacks_is_named(account: Path, missing: str) -> None:
    (account / missing).unlink()
    with pytest.raises(ConfigError, match=rf"{missing} must be there.*automountServiceAccountToken"):
        await load_config(environ=SERVICE, account=account)


async def test_an_empty_token_and_a_missing_port_are_said(account: Path) -> None:
    with pytest.raises(ConfigError, match="host/port"):
        await load_config(environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, account=account)
    (account / "token").write_text("")
    with pytest.raises(ConfigError, match="empty"):
        await load_config(environ=SERVICE, account=account)


async def test_the_first_that_is_given_wins(account: Path, tmp_path: Path) -> None:
    flag = kubeconfig(tmp_path / "flag", server="https://flag.example")
    variable = kubeconfig(tmp_path / "variable", server="https://variable.example")
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube" / "config", server="https://home.example")
    home = {"HOME": str(tmp_path)}
    everything = {**home, **SERVICE, "KUBECONFIG": str(variable)}
    assert (await load_config(str(flag), environ=everything, account=account)).host == "https://flag.example"
    assert (await load_config(environ=everything, account=account)).host == "https://variable.example"
    assert (await load_config(environ={**home, **SERVICE}, account=account)).host == "https://[fd00::1]:443"
    assert (await load_config(environ=home, account=account)).host == "https://home.example"
    assert (await load_config("", "two", environ=everything, account=account)).host == "https://two.example"


async def test_several_files_are_one_configuration(tmp_path: Path) -> None:
    present = kubeconfig(tmp_path / "present")
    paths = os.pathsep.join([str(present), str(tmp_path / "absent")])
    assert (await load_config(paths, environ={})).host == "https://one.example"


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first")
    time = [0.0]
    path = kubeconfig(tmp_path / "config", user={"tokenFile": "token"})
    configuration = await load_config(str(path), environ={}, clock=lambda: time[0])
    assert await token(configuration) == "Bearer first"
    (tmp_path / "token").write_text("second")
    time[0] = 59.0
    assert await token(configuration) == "Bearer first"
    time[0] = 60.0
    assert await token(configuration) == "Bearer second"


async def test_without_anything_all_ways_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"KUBECONFIG.*KUBERNETES_SERVICE_HOST.*--kubeconfig"):
        await load_config(environ={"HOME": str(tmp_path)})


@run_each(
    ("content", "message"),
    [
        (None, "seen no file"),
        ("", "can't be used"),
        ("a: [", "can't be used"),
        ("current-context: none\ncontexts: []\nclusters: []\n", "none"),
        ("- token: hunter2\n", "can't be used"),
    ],
)
async def test_a_kubeconfig_that_is_wrong_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "config"
    if content is not None:
        await asyncio.to_thread(path.write_text, content)
    with pytest.raises(ConfigError, match=message) as refused:
        await load_config(str(path), environ={})
    assert str(path) in str(refused.value)
    assert "hunter2" not in str(refused.value)


async def test_a_context_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="three"):
        await load_config(str(kubeconfig(tmp_path / "config")), "three", environ={})


@run_each(
    ("environ", "where"),
    [
        (SERVICE, "from-file"),
        ({"POD_NAMESPACE": "given"}, "given"),
        ({**SERVICE, "POD_NAMESPACE": "given"}, "given"),
        ({**SERVICE, "POD_NAMESPACE": " "}, "from-file"),
        ({}, ""),  # the file may be mounted where the kubelet started nothing
    ],
)
def test_a_pod_knows_where_it_is(account: Path, environ: dict[str, str], where: str) -> None:
    assert find_own_namespace(environ, account) == where


def test_outside_a_cluster_there_is_no_identity(tmp_path: Path) -> None:
    assert find_own_namespace(SERVICE, tmp_path) == ""
    assert find_replica_name({"POD_NAME": "pod-0"}) == "pod-0"
    assert find_replica_name({}) == os.uname().nodename


def test_objects_without_a_namespace_go_where_kubectl_puts_them(tmp_path: Path, account: Path) -> None:
    """The context's namespace, in a pod the pod's, else `default`."""
    path = kubeconfig(tmp_path / "config")
    content = yaml.safe_load(path.read_text())
    content["contexts"][1]["context"]["namespace"] = "team-a"
    path.write_text(yaml.safe_dump(content))
    namespaces = [find_context_namespace(str(path), context, environ={}) for context in ("", "one", "two")]
    assert namespaces == ["default", "default", "team-a"]
    assert find_context_namespace("", "two", environ={"KUBECONFIG": str(path)}) == "team-a"
    assert find_context_namespace(environ=SERVICE, account=account) == "from-file"
    path.write_text("contexts: 5")
    with pytest.raises(ConfigError, match="can't be used"):
        find_context_namespace(str(path), environ={})
