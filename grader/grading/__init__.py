"""A run: workers, the judge, one exercise's run, and what is recorded for it."""
