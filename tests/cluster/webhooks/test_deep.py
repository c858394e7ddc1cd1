"""The deepest objects that an API server stores are listed in both versions and deleted, whatever field is deep."""

import http.client
import ssl
from contextlib import closing
from typing import Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, GROUP
from dynamo_webhooks.api.line import Line
from tests.cluster.harness import ADMIN, TOKENS, ControlPlane
from tests.hostile.deep import deep_object, places

pytestmark = pytest.mark.cluster
# from the most that an API server reads; of free fields it writes as many levels into managedFields
LEVELS: Final = (9_990, 4_990, 3_300, 2_000)
RESERVED: Final = "extraClientPods"  # must be empty by the schema
PLACES: Final = [place for place in places(Line.V1_2) if RESERVED not in place[2]]


def _asked(plane: ControlPlane, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    """A request whose answer is too deep for the tests' own reader."""
    context = ssl.create_default_context(cafile=str(plane.ca))
    with closing(http.client.HTTPSConnection("127.0.0.1", plane.port, context=context, timeout=120)) as connection:
        headers = {"Authorization": f"Bearer {TOKENS[ADMIN][0]}", "Content-Type": "application/json", "Accept": "application/json"}
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()


@pytest.mark.parametrize(("kind", "version", "path"), PLACES)
def test_the_deepest_object_is_listed_in_both_versions_and_deleted(
    plane: ControlPlane, kind: str, version: str, path: tuple[str, ...]
) -> None:
    """In the version that isn't stored: the answer to the deletion is converted, too."""
    stored = BY_NAME[kind].stored(Line.V1_2)
    namespace = plane.namespace()
    collections = {each: f"/apis/{GROUP}/{each}/namespaces/{namespace}/{BY_NAME[kind].plural}" for each in (ALPHA, BETA)}
    refused = b""
    for levels in LEVELS:
        status, refused = _asked(plane, "POST", collections[version], deep_object(kind, version, path, levels, namespace))
        if status == 201:
            break
    else:
        pytest.fail(refused[:600].decode(errors="replace"))
    for each in (ALPHA, BETA):
        status, text = _asked(plane, "GET", collections[each])
        assert status == 200, text[:600]
        assert text.count(b'"f:a":') + text.count(b'\\"f:a\\":') >= levels - 20, levels
    status, text = _asked(plane, "DELETE", f"{collections[BETA if stored == ALPHA else ALPHA]}/deep")
    assert status == 200, text[:600]
    assert b'"items":[]' in _asked(plane, "GET", collections[version])[1]
