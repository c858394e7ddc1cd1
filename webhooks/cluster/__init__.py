"""Facts about the cluster, watched by a separate process and sent to the serving ones; requests never wait for them."""
