"""Runs untrusted code in a process of its own and speaks with it in plain data.

This package knows nothing of exercises. From the judge outwards: `proxy` and `session` turn a
check's calls into requests, `wire` is the form in which they cross, `host` hands out children,
`forkserver` and `control` reach the process that forks them. Beside the student's code: `zygote`
forks, `lockdown`, `syscalls` and `jail` lock in, `server` answers, `forbidden` and `settings`
watch.
"""
