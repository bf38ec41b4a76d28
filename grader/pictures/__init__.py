"""Charts of what a model computes: yours beside what is expected, and those of the texts.

`attention_heads`, `curves`, `positions` and `scatter` make figures, which `write` brings into a PNG
or an SVG file. Matplotlib is imported when the first of them is drawn; its pyplot, with the state
that it keeps for the whole process, is not used.
"""

from grader.pictures.charts import attention_heads, curves, positions, scatter
from grader.pictures.style import image, write

__all__ = ["attention_heads", "curves", "image", "positions", "scatter", "write"]
