"""The three costly jobs, each written once: cells (counting), neighbours (distances), attackers (models)."""
