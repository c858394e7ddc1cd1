"""Changing a text as little as possible so that it reads as another value: comments, indentation and quotes of what stays are kept."""
