"""The search for the wrong line: small edits are tried where no known mistake fits."""
