"""One release, several attackers."""
