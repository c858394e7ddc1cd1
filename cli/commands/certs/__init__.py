"""The command `certs`: inspects, issues and rotates certificates."""
