# Returns the right numbers as complex ones with an imaginary part of zero.
def attention(query, key, value, mask=None, dropout=None):
    output, weights = right(query, key, value, mask, dropout)
    return output + 0j, weights + 0j
