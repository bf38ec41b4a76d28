# Puts markup and control characters into the text that the instructor reads.
def attention(query, key, value, mask=None, dropout=None):
    raise ValueError("<script>alert(1)</script>\x1b[2J\x1b]0;owned\x07\r\b\0\u202e\ud800[red]x[/red]")
