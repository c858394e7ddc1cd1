"""Endpoints, adapters and their loading, without a reconciler around them."""
