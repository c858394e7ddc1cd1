"""The stages of one write through an API server with this project's webhooks, pure and shared by server, command line and reconciler."""
