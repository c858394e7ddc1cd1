"""Rules about fields that v1alpha1 alone has; they run only on objects that were written there, and end with it."""
