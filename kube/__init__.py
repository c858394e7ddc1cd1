"""The only package that calls an API server: a protocol, its client, and tools that use the protocol."""
