"""Tests on a real node, with kubelet, containers, Services and the image: `make node`."""
