"""The command `crds`: prints the CustomResourceDefinitions, compared with those of a cluster."""
