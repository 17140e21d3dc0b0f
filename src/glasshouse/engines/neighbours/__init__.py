"""Exact nearest records in Gower space."""
