"""Validates one object as the API server and the webhooks do: findings with places and fixes, or the server's response."""
