"""The laws of conversion, checked on objects generated from the schemas."""
