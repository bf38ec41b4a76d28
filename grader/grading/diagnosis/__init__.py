"""Names the mistake: which known ones explain what is wrong in a submission."""
