"""The way of one write through an API server with our webhooks, as pure stages that server, command line and reconciler share."""
