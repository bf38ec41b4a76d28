"""Run untrusted code, each child in a separate process. Knows Linux, not tensors.

From the judge outwards: `host` hands out children, `forkserver` and `control` reach the process
that forks them. On the other side `zygote` forks, and `lockdown`, `syscalls` and `jail` lock in.
"""
