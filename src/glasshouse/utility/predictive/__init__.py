"""Models: what is learnt from the release, and how well."""
