# Takes the reference's code from torch's own evaluation of frames.
# exercise: multi_head
# expect: finds nothing
import types
import torch
from exercises.attention import attention
found = []


def look(frame, *rest):
    if frame.f_code.co_filename == "<reference>":
        found.append(frame.f_code.co_names)
    return None


try:
    from torch._C._dynamo import eval_frame
    import torch._dynamo.convert_frame as cf
    def look2(frame, *rest):
        try:
            look(frame)
        except Exception as e:
            found.append(repr(e))
        return cf.ConvertFrameReturn()
    old = eval_frame.set_eval_frame(look2)
    try:
        attention(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    except BaseException:
        pass
    eval_frame.set_eval_frame(old)
except Exception:
    pass
raise ValueError(f"FOUND: {found[:1] or 'nothing'}")
