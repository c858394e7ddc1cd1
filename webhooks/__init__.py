"""The wire: aiohttp server, review codecs, routes, limits, probes, metrics, access log."""
