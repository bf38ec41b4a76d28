# Returns what looks like a reply of the kit's, one inside another.
def attention(query, key, value, mask=None, dropout=None):
    return {"ok": {"ok": right(query, key, value, mask, dropout)}, "forbidden": [], "error": None}
