"""四重循环：一个元素一个元素地填，完全不用广播。"""

import torch


def padding_mask(ids, pad_id=0):
    批量, 长度 = ids.shape
    结果 = torch.zeros(批量, 1, 1, 长度, dtype=torch.bool, device=ids.device)
    for 句 in range(批量):
        for 位 in range(长度):
            # 不是填充就可以看
            结果[句, 0, 0, 位] = ids[句, 位].item() != pad_id
    return 结果


def causal_mask(length, device=None):
    掩码 = torch.zeros(1, 1, length, length, dtype=torch.bool, device=device)
    for 行 in range(length):
        掩码[0, 0, 行, : 行 + 1] = True
    return 掩码


def target_mask(ids, pad_id=0):
    填充 = padding_mask(ids, pad_id)
    因果 = causal_mask(ids.shape[1], ids.device)
    结果 = torch.empty(ids.shape[0], 1, ids.shape[1], ids.shape[1], dtype=torch.bool)
    for 句 in range(ids.shape[0]):
        for 行 in range(ids.shape[1]):
            for 列 in range(ids.shape[1]):
                结果[句, 0, 行, 列] = bool(填充[句, 0, 0, 列]) and bool(因果[0, 0, 行, 列])
    return 结果.to(ids.device)
