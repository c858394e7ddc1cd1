"""Who we are on TLS: authority, leaf, and the TLS context that reloads them."""
