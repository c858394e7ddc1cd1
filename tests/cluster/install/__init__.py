"""Tests: manifests and the chart on a cluster: rights, hooks, certificates, upgrades."""
