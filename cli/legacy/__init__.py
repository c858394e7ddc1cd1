"""Kinds of the first releases: recognising their documents, and writing what they said as today's kinds."""
