"""Recognition of known mistakes: the canonical form of replies, their features, the evidence."""
