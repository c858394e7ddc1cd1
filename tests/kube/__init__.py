"""Tests of kube, and the API server in memory that other rooms test with."""
