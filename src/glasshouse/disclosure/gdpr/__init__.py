"""The three attacks of the GDPR criteria: singling out, linkability, inference."""
