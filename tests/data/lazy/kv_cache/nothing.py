"""Nothing comes back."""


class KVCache:
    length = None

    def append(self, key, value):
        return None

    def reorder(self, rows):
        return None


def causal_mask_with_past(length, past, device=None):
    return None
