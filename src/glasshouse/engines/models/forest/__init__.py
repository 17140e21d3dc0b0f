"""Random forests by the rules the field's published figures rest on."""
