"""The checker of certificate files, in exact arithmetic of its own."""
