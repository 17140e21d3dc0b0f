"""Membership: who was in the data."""
