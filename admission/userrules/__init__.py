"""Users' own rules: policies in Kubernetes' CEL, read from plain data and asked about one write. Pure."""
