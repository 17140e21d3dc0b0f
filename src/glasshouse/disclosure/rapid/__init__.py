"""RAPID: train an attacker on the release, ask it about real people."""
