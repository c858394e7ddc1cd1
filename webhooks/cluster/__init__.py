"""Facts about the cluster, watched in a process of their own and passed to those that serve; nobody asks for them while a request waits."""
