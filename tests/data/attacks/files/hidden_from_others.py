# Writes to those files of torch's that are shown otherwise, which every other child reads too.
# expect: finds nothing
# isolation: jail
import os

import torch
import torch.nn.functional as F

found = []
for path in (F.__file__, torch.nn.modules.transformer.__file__):
    for attempt in (
        lambda: os.chmod(path, 0o666),
        lambda: open(path, "r+").write("import os"),
        lambda: open(path, "a").write("import os"),
        lambda: os.truncate(path, 0),
        lambda: os.unlink(path),
        lambda: os.rename(path, path + "x"),
        lambda: os.utime(path),
        lambda: os.setxattr(path, "user.mine", b""),
    ):
        try:
            attempt()
            found.append(path)
        except OSError:
            pass
    if "def multi_head_attention_forward" not in open(F.__file__).read():
        found.append("the file itself")
raise ValueError(f"FOUND: {found or 'nothing'}")
