"""Policies: the limits a release must keep."""
