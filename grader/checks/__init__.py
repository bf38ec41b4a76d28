"""The hidden checks, one module an exercise. What a check is, `framework` says."""
