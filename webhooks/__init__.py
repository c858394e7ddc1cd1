"""The wire: HTTP server, review codecs, routes, limits, probes, metrics, access log."""
