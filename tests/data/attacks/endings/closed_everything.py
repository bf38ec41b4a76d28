# Closes every descriptor, with right code.
import os

os.closerange(0, 64)
attention = right
