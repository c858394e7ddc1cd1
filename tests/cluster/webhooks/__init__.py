"""Tests: the webhooks, as an API server meets them."""
