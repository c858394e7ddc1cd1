"""Tests: the programs that run beside a control plane in production."""
