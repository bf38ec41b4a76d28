# Switches the collector off and its thresholds to nonsense, with right code.
# expect: full marks
import gc

gc.disable()
gc.set_threshold(1, 1, 1)
attention = right
