"""Serving certificates: authority, leaf, rotation, and the reloading TLS context."""
