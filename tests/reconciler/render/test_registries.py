"""Which pull secrets are for which image."""

import base64
import json
from typing import Any

import pytest

from dynamo_webhooks.reconciler.render.pod.registries import MOST, addresses, index, names_for


def secret(auths: Any, kind: str = "kubernetes.io/dockerconfigjson", **more: Any) -> dict[str, Any]:
    text = auths if isinstance(auths, str) else json.dumps(auths if kind.endswith("cfg") else {"auths": auths})
    name = ".dockercfg" if kind.endswith("cfg") else ".dockerconfigjson"
    return {"kind": "Secret", "type": kind, "data": {name: base64.b64encode(text.encode()).decode()}, **more}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (secret({"https://nvcr.io/v2/": {}, "reg:5000": {}}), ["nvcr.io", "reg:5000"]),
        (secret({"https://index.docker.io/v1/": {}}), ["index.docker.io"]),
        (secret({"docker.io": {}, "registry-1.docker.io": {}}), ["index.docker.io"]),
        (secret({"gcr.io/a/": {}, "http://gcr.io/v2/b": {}}), ["gcr.io/a", "gcr.io/b"]),
        (secret({"": {}, "x.io": {}}), ["x.io"]),
        (secret({"nvcr.io": {}}, "kubernetes.io/dockercfg"), ["nvcr.io"]),
        (secret({"nvcr.io": {}}, "Opaque"), []),
        (secret("{"), None),
        (secret([]), None),
        (secret('{"auths": 1}'), None),
        (secret("[" * 100_000), None),
        (secret({f"r{number}.io": {} for number in range(MOST + 1)}), None),
        ({"type": "kubernetes.io/dockerconfigjson"}, None),
        ({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "%%"}}, None),
        ({"type": "kubernetes.io/dockerconfigjson", "data": []}, None),
        ({"type": ["x"]}, []),
    ],
)
def test_addresses_of_a_secret(given: dict[str, Any], found: list[str] | None) -> None:
    assert addresses(given) == found


@pytest.mark.parametrize(
    ("image", "names"),
    [
        ("nvcr.io/nvidia/x:1", ("a", "b")),
        ("nvcr.io:443/x", ()),
        ("NVCR.io/x", ()),
        ("nginx:1.25", ("hub",)),
        ("library/nginx", ("hub",)),
        ("docker.io/library/nginx@sha256:0", ("hub",)),
        ("gcr.io/a/x", ("deep",)),
        ("gcr.io/b/x", ("wide",)),
        ("eu.example.com/x", ("star",)),
        ("a.eu.example.com/x", ()),
        ("example.com/x", ()),
        ("localhost:5000/x", ("local",)),
        ("", ()),
        ("/x", ("hub",)),
    ],
)
def test_the_longest_address_of_an_image_counts(image: str, names: tuple[str, ...]) -> None:
    given = [
        ("b", ["nvcr.io"]),
        ("a", ["nvcr.io"]),
        ("hub", ["index.docker.io"]),
        ("wide", ["gcr.io"]),
        ("deep", ["gcr.io/a"]),
        ("star", ["*.example.com"]),
        ("local", ["localhost:5000"]),
    ]
    assert names_for(image, index(given)) == names
