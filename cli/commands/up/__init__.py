"""The command `up`: server and reconciler beside a cluster, to try them, and nothing of them afterwards."""
