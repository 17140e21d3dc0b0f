"""Information about people in the keys and about the target, in bits."""
