"""What is drawn: charts of what a model computes, yours beside what is expected, the texts' own.

`heat_map`, `curves` and `positions` make figures, which `write` brings into a PNG or an SVG file.
Matplotlib is imported when the first of them is drawn; its pyplot, with the state that it keeps for
the whole process, is not used.
"""

from grader.pictures.charts import curves, heat_map, positions
from grader.pictures.style import image, write

__all__ = ["curves", "heat_map", "image", "positions", "write"]
