"""Runs untrusted code in a process of its own and speaks with it in plain data.

This package knows nothing of exercises. `zygote` and `server` run beside the student's code,
`session` and `proxy` in the judge, `wire` is what they speak.
"""
