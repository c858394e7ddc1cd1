"""Tests of the wire: the pure answers, the server on loopback, and real processes."""
