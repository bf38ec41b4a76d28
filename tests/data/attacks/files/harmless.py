# Keeps notes in its working directory and in a temporary file.
# expect: full marks
import tempfile
from pathlib import Path


def attention(query, key, value, mask=None, dropout=None):
    Path("notes").mkdir(exist_ok=True)
    Path("notes", "shape.txt").write_text(str(query.shape))
    with tempfile.TemporaryFile() as file:
        file.write(b"seen")
    return right(query, key, value, mask, dropout)
