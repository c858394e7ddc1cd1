"""What the commands that run until they are stopped share: settings, sockets, probes and metrics, an orderly end."""
