"""Addresses as people write them, and sockets that notice each other."""

import socket

import pytest

from dynamo_webhooks.webhooks.sockets import Address, AddressError, bind, parse
from tests.rows import run_each


@run_each(
    ("text", "address", "printed"),
    [
        ("127.0.0.1:9443", Address("127.0.0.1", 9443), "127.0.0.1:9443"),
        ("localhost:0", Address("localhost", 0), "localhost:0"),
        (":8081", Address("", 8081), "0.0.0.0:8081"),
        ("[::1]:80", Address("::1", 80), "[::1]:80"),
    ],
)
def test_addresses(text: str, address: Address, printed: str) -> None:
    assert parse(text) == address
    assert str(address) == printed


@run_each("text", ["", "80", "host", "host:", "host:x", "host:-1", "host:65536", "::1:80", "host:8 0", "host:\N{SUPERSCRIPT TWO}"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(AddressError, match="must be HOST:PORT"):
        parse(text)


def test_a_port_of_ours_is_not_shared() -> None:
    address, sock = bind(Address("127.0.0.1", 0))
    with sock:
        assert address.port == sock.getsockname()[1] > 0
        sock.listen()
        with pytest.raises(AddressError, match="address already in use"):
            bind(address)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no dual-stack IPv6")
def test_an_empty_host_takes_both_families() -> None:
    address, sock = bind(Address("", 0))
    with sock:
        sock.listen()
        for host in ("127.0.0.1", "::1"):
            socket.create_connection((host, address.port), timeout=60).close()


def test_a_host_that_is_none() -> None:
    for host in ("bad host", "a" * 300):
        with pytest.raises(AddressError, match="can't listen on"):
            bind(Address(host, 0))
