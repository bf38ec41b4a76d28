"""The hidden checks, one module per exercise. `framework` defines what a check is."""
