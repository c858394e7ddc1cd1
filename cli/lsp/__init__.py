"""The language server: what editors ask of a text, and the protocol's edge."""
