"""The one hard correspondence: the flat pod fields of v1alpha1 and the pod template of v1beta1. No other member is named here."""
