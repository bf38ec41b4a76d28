"""Plain lists, one row after another, a cache class of its own; Spanish names."""

import math

import torch


class Memoria:
    def __init__(self):
        self.partes = []

    @property
    def length(self):
        return sum(k.size(2) for k, _ in self.partes)

    def append(self, key, value):
        self.partes.append((key, value))
        return tuple(torch.cat(trozos, 2) for trozos in zip(*self.partes))


def por_filas(tensor, funcion):
    plano = tensor.reshape(-1, tensor.size(-1))
    return torch.tensor([funcion(fila) for fila in plano.tolist()]).reshape(tensor.shape)


def probabilidades(fila, temperatura):
    mayor = max(fila)
    if temperatura == 0:
        donde = fila.index(mayor)
        return [1.0 if i == donde else 0.0 for i in range(len(fila))]
    potencias = [math.exp((z - mayor) / temperatura) for z in fila]
    suma = math.fsum(potencias)
    return [x / suma for x in potencias]


def with_temperature(logits, temperature):
    if temperature < 0:
        raise ValueError("temperatura negativa")
    return por_filas(logits, lambda fila: probabilidades(fila, temperature))


def mejores(fila):
    return sorted(range(len(fila)), key=lambda i: fila[i], reverse=True)


def quedan(fila, indices):
    return [z if i in indices else -math.inf for i, z in enumerate(fila)]


def keep_top_k(logits, k):
    if k < 1:
        raise ValueError("k")
    return por_filas(logits, lambda fila: quedan(fila, mejores(fila)[:k]))


def nucleo(fila, p):
    probs, suma, indices = probabilidades(fila, 1), 0.0, []
    for i in mejores(fila):
        indices.append(i)
        suma += probs[i]
        if suma >= p and p < 1:
            break
    return quedan(fila, indices)


def keep_top_p(logits, p):
    if p > 1 or p <= 0:
        raise ValueError("p")
    return por_filas(logits, lambda fila: nucleo(fila, p))


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError
    azar = torch.rand(len(logits), generator=generator).tolist()
    elegidos = []
    for fila, u in zip(logits.tolist(), azar):
        probs = probabilidades(fila, temperature)
        fila = [math.log(x) if x > 0 else -math.inf for x in probs]
        if top_k is not None:
            fila = quedan(fila, mejores(fila)[:top_k])
        if top_p is not None:
            fila = nucleo(fila, top_p)
        probs = probabilidades(fila, 1)
        for i in mejores(fila):
            u -= probs[i]
            elegido = i
            if u < 0:
                break
        elegidos.append(elegido)
    return torch.tensor(elegidos)


def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None):
    if max_new_tokens == 0:
        return ids.clone()
    memorias = [Memoria() for _ in model.blocks]
    columnas, acabadas = [], torch.zeros(len(ids), dtype=torch.bool)
    nuevos = ids
    for _ in range(max_new_tokens):
        with torch.no_grad():
            salida = model(nuevos, memorias)
        columna = sample(salida[:, -1], temperature, top_k, top_p, generator)
        if eos_id is not None:
            columna[acabadas] = eos_id
            acabadas |= columna.eq(eos_id)
        columnas.append(columna)
        if acabadas.all():
            break
        nuevos = columna[:, None]
    return torch.cat([ids, torch.stack(columnas, 1)], 1)
