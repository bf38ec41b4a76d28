# Returns a list that contains itself.
def attention(query, key, value, mask=None, dropout=None):
    reply = []
    reply.append(reply)
    return reply
