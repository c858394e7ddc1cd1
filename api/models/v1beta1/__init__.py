"""Models of the version v1beta1."""
