"""Tests of the kit, by room; `data/` is what they read, `tools/` what measures and searches."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
