"""How calls travel between the judge and a student's code. Knows tensors, not processes.

On the judge's side `proxy` and `session` turn a check's calls into requests, `channel` sends them,
in the form that `wire` gives them. Beside the student's code `server` answers, `modules` imports,
`guard` and `settings` watch, and `child` is what a process runs.
"""
