"""The command `migrate`: moves stored objects to another version."""
