"""Identity: who stands alone on the keys."""
