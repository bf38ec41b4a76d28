"""A linked list of nodes to train, recursion to encode and to decode; German names."""

import codecs
import re

PIECES = re.compile(r" ?\S+|\s+")


class Knoten:
    __slots__ = ("wert", "naechster")

    def __init__(self, wert, naechster=None):
        self.wert = wert
        self.naechster = naechster


def kette(stueck):
    kopf = None
    for byte in reversed(stueck.encode("utf-8")):
        kopf = Knoten(bytes([byte]), kopf)
    return kopf


def train_merges(text, count):
    ketten = [kette(m[0]) for m in PIECES.finditer(text)]
    regeln = []
    for _ in range(count):
        haeufig = {}
        for knoten in ketten:
            while knoten.naechster is not None:
                paar = (knoten.wert, knoten.naechster.wert)
                haeufig[paar] = haeufig.get(paar, 0) + 1
                knoten = knoten.naechster
        if not haeufig:
            break
        bestes = sorted(haeufig.items(), key=lambda eintrag: eintrag[::-1])[-1][0]
        regeln.append(bestes)
        for knoten in ketten:
            while knoten is not None:
                if knoten.naechster and (knoten.wert, knoten.naechster.wert) == bestes:
                    knoten.wert += knoten.naechster.wert
                    knoten.naechster = knoten.naechster.naechster
                knoten = knoten.naechster
    return regeln


def zerlegt(teile, regeln, ab=0):
    if ab == len(regeln) or len(teile) < 2:
        return teile
    links, rechts = regeln[ab]
    neu = []
    for teil in teile:
        if neu and neu[-1] == links and teil == rechts:
            neu[-1] = links + rechts
        else:
            neu.append(teil)
    return zerlegt(neu, regeln, ab + 1)


def encode(text, merges):
    nummer = {bytes([i]): i for i in range(256)}
    for i, paar in enumerate(merges):
        nummer[b"".join(paar)] = i + 256
    return [
        nummer[teil]
        for stueck in PIECES.findall(text)
        for teil in zerlegt([bytes([b]) for b in stueck.encode()], tuple(merges))
    ]


def decode(ids, merges):
    nach = {b"".join(paar): paar for paar in merges}

    def blaetter(teil):
        return blaetter(nach[teil][0]) + blaetter(nach[teil][1]) if teil in nach else [teil]

    strom = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = ""
    for i in ids:
        if not 0 <= i < 256 + len(merges):
            raise IndexError(f"{i}?")
        ganzes = bytes([i]) if i < 256 else b"".join(merges[i - 256])
        for blatt in blaetter(ganzes):
            text += strom.decode(blatt)
    return text + strom.decode(b"", final=True)
