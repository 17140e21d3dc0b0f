"""The risk-utility map."""
