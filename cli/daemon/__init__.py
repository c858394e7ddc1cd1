"""Parts that serve, provision and reconcile share: settings, sockets, probes and metrics, an orderly end."""
