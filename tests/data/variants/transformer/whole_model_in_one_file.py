"""The whole model in one file and in short names; no import of the kit, positions made at every call."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(s, d):
        super().__init__()
        s.weight, s.bias = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(s, x):
        return F.layer_norm(x, x.shape[-1:], s.weight, s.bias)


class Attn(nn.Module):
    def __init__(s, d, h, p):
        super().__init__()
        s.q_proj, s.k_proj, s.v_proj, s.out_proj = (nn.Linear(d, d) for _ in range(4))
        s.h, s.drop = h, nn.Dropout(p)

    def forward(s, x, m, mask):
        q, k, v = (
            t.unflatten(2, (s.h, -1)).transpose(1, 2) for t in (s.q_proj(x), s.k_proj(m), s.v_proj(m))
        )
        a = q @ k.transpose(2, 3) / q.size(3) ** 0.5
        a = a.masked_fill(~mask, torch.finfo(a.dtype).min).softmax(3)
        return s.out_proj((s.drop(a) @ v).transpose(1, 2).flatten(2))


class FF(nn.Module):
    def __init__(s, d, f, p, act):
        super().__init__()
        s.linear1, s.linear2, s.drop, s.act = nn.Linear(d, f), nn.Linear(f, d), nn.Dropout(p), act

    def forward(s, x):
        return s.linear2(s.drop(getattr(F, s.act)(s.linear1(x))))


class Sub(nn.Module):
    def __init__(s, d, p, pre):
        super().__init__()
        s.norm, s.drop, s.pre = Norm(d), nn.Dropout(p), pre

    def forward(s, x, f):
        return x + s.drop(f(s.norm(x))) if s.pre else s.norm(x + s.drop(f(x)))


class Layer(nn.Module):
    def __init__(s, d, h, f, p, act, pre, cross):
        super().__init__()
        s.self_attn = Attn(d, h, p)
        if cross:
            s.cross_attn = Attn(d, h, p)
        s.feed_forward = FF(d, f, p, act)
        s.sublayers = nn.ModuleList(Sub(d, p, pre) for _ in range(3 if cross else 2))

    def forward(s, x, mask, m=None, m_mask=None):
        x = s.sublayers[0](x, lambda y: s.self_attn(y, y, mask))
        if m is not None:
            x = s.sublayers[1](x, lambda y: s.cross_attn(y, m, m_mask))
        return s.sublayers[-1](x, s.feed_forward)


class Stack(nn.Module):
    def __init__(s, n, d, *rest):
        super().__init__()
        s.layers = nn.ModuleList(Layer(d, *rest) for _ in range(n))
        s.norm = Norm(d) if rest[4] else None

    def forward(s, x, *rest):
        for layer in s.layers:
            x = layer(x, *rest)
        return x if s.norm is None else s.norm(x)


class Table(nn.Module):
    def __init__(s, n, d):
        super().__init__()
        s.weight = nn.Parameter(torch.randn(n, d))


class Token(nn.Module):
    def __init__(s, n, d):
        super().__init__()
        s.embedding = Table(n, d)


class Embed(nn.Module):
    def __init__(s, n, d, p, max_len):
        super().__init__()
        s.token, s.drop, s.max_len = Token(n, d), nn.Dropout(p), max_len

    def forward(s, ids):
        w = s.token.embedding.weight
        d = w.size(1)
        if ids.size(1) > s.max_len:
            raise ValueError(f"{ids.size(1)} > {s.max_len}")
        pos = torch.arange(ids.size(1), device=ids.device, dtype=torch.float64)[:, None]
        freq = 10000.0 ** (-torch.arange(0, d, 2, device=ids.device, dtype=torch.float64) / d)
        pe = torch.stack([(pos * freq).sin(), (pos * freq).cos()], -1).flatten(1)[:, :d]
        return s.drop(w[ids] * d**0.5 + pe.to(w.dtype))


class Transformer(nn.Module):
    def __init__(
        s,
        src_vocab_size,
        tgt_vocab_size,
        d_model=512,
        n_heads=8,
        num_layers=6,
        d_ff=2048,
        dropout=0.1,
        max_len=5000,
        pad_id=0,
        activation="relu",
        norm_first=False,
    ):
        super().__init__()
        s.src_embedding = Embed(src_vocab_size, d_model, dropout, max_len)
        s.tgt_embedding = Embed(tgt_vocab_size, d_model, dropout, max_len)
        o = num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first
        s.encoder, s.decoder = Stack(*o, False), Stack(*o, True)
        s.generator, s.pad_id = nn.Linear(d_model, tgt_vocab_size), pad_id

    def seen(s, ids):
        return (ids != s.pad_id)[:, None, None]

    def encode(s, src):
        return s.encoder(s.src_embedding(src), s.seen(src))

    def decode(s, tgt, memory, src):
        n = tgt.size(1)
        past = ~torch.ones(n, n, dtype=torch.bool, device=tgt.device).triu(1)
        return s.decoder(s.tgt_embedding(tgt), s.seen(tgt) & past, memory, s.seen(src))

    def forward(s, src, tgt):
        return s.generator(s.decode(tgt, s.encode(src), src))
