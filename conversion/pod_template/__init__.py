"""The correspondence of v1alpha1's flat pod fields and v1beta1's pod template."""
