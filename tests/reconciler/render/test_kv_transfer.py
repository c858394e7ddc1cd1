"""What a worker is told of the transfer of KV caches."""

import pytest

from tests.reconciler.rendering import children, env_of, graph, main_of, vllm


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (0.5, "0.5"),
        (1, "1"),
        (1.0, "1"),
        (0, "0"),
        (0.1, "0.1"),
        (5e-05, "0.00005"),
        (0.123456789, "0.12345679"),  # as a 32-bit float keeps it
        (0.30000000000000004, "0.3"),
        (7.0, "7"),  # nobody admits it, and nothing breaks
        (3.4028235e38, "34028235" + "0" * 31),
        (1e-40, "0.0000000000000000000000000000000000000001"),
    ],
)
def test_a_weight_is_told_in_its_shortest_form(weight: float, text: str) -> None:
    policy = {"domain": "rack", "labelKey": "example.com/rack", "enforcement": "preferred", "preferredWeight": weight}
    made = children(graph(vllm("w"), experimental={"kvTransferPolicy": policy}))["Deployment g-w"]
    assert env_of(main_of(made))["DYN_KV_TRANSFER_PREFERRED_WEIGHT"] == text
