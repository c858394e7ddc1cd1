"""Stands in for an engine: its nodes find each other by the documented arguments, and then it serves, and may be dumped."""

import argparse
import contextlib
import os
import socket
import time
from pathlib import Path

from .serving import serve


def _await_name(host: str) -> None:
    """Waits until a name is known, as engines do: a name server hears of a pod after it has started."""
    while True:
        with contextlib.suppress(socket.gaierror):
            socket.getaddrinfo(host, None)
            return
        time.sleep(0.2)


def _await_node(server: socket.socket) -> str:
    """The rank of the first node that tells it; who only looks whether the leader is there ends the connection."""
    while True:
        with server.accept()[0] as node:
            if rank := node.recv(100).decode():
                return rank


def main() -> None:
    """The leader waits for a node, which tells its rank; then each serves."""
    parser = argparse.ArgumentParser()
    for name in ("--nnodes", "--node-rank", "--master-addr", "--master-port"):
        parser.add_argument(name)
    parser.add_argument("--headless", action="store_true")
    given, _ = parser.parse_known_args()
    if given.nnodes:
        address = given.master_addr, int(given.master_port)
        _await_name(given.master_addr)
        if given.node_rank == "0":
            with socket.create_server(address) as server:
                print("joined by", _await_node(server), flush=True)
        else:
            with socket.create_connection(address) as leader:
                leader.sendall(given.node_rank.encode())
            print("joined", given.master_addr, flush=True)
    if folder := os.environ.get("DYN_SNAPSHOT_CONTROL_DIR"):
        Path(folder, "ready-for-checkpoint").touch()
    serve()


if __name__ == "__main__":
    main()
