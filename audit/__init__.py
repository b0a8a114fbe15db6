"""The auditor: reads all that a deployment stores, and says which of its invariants are broken."""
