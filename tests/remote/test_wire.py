"""The frames that untrusted code can send: what is sent arrives, and nothing else gets through."""

from __future__ import annotations

import contextlib
import random
import struct
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.remote import wire
from grader.remote.server import Server
from grader.remote.session import clean
from tests import ROOT
from tests.tools import warm


class Pair(NamedTuple):
    a: int
    b: int


DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64]


def crossed(value: Any) -> Any:
    return wire.decode(wire.encode(value)[4:])


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(PLAIN)
def test_plain_data_arrives_as_it_was(value: Any) -> None:
    assert crossed(value) == value
    assert type(crossed(value)) is type(value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_tensors_arrive_as_they_were(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    sent = (torch.randn(shape) * 3).to(dtype)
    arrived = crossed([sent])[0]
    assert arrived.dtype == dtype
    assert arrived.shape == sent.shape
    assert torch.equal(arrived, sent)


def test_a_transposed_tensor_arrives_transposed() -> None:
    sent = torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1)
    arrived = crossed(sent)
    assert torch.equal(arrived, sent)
    assert not arrived.is_contiguous()
    assert arrived.stride() == sent.stride()


def test_a_tensor_that_is_there_twice_arrives_as_one() -> None:
    """As where a sentence attends to itself: `attend(x, x, x)`. Equal ones stay two."""
    x, mask = torch.ones(2, 3), torch.ones(2, 3)
    query, key, value, other = crossed([x, x, x, mask])
    assert query is key is value
    assert other is not query
    assert torch.equal(query, x)


def test_values_that_json_lacks_arrive() -> None:
    assert crossed([float("inf"), b"code"]) == [float("inf"), b"code"]
    assert crossed(Pair(1, 2)) == (1, 2)
    affine = crossed(wire.Affine(torch.ones(2), 3.0))
    assert affine(torch.ones(2)).tolist() == [4.0, 4.0]
    once = crossed(wire.Once(("a", "b")))
    assert [*once, *once] == ["a", "b"]


@pytest.mark.parametrize("size", [0, 1, wire.MAX_SHORT, wire.MAX_SHORT + 1])
def test_bytes_arrive_as_they_were(size: int) -> None:
    sent = bytes(number % 256 for number in range(size))
    assert crossed([sent, (sent, b"a")]) == [sent, (sent, b"a")]


def test_a_vocabulary_has_more_bytes_than_a_frame_has_tensors() -> None:
    merges = [(bytes([number % 256]), b"ab") for number in range(2 * wire.MAX_TENSORS)]
    assert crossed(merges) == merges


def test_more_long_bytes_than_a_frame_has_tensors_arrive_as_what_they_are() -> None:
    """Merges that double their bytes are wrong, but honest: their frame is never refused."""
    long = b"a" * (wire.MAX_SHORT + 1)
    arrived = wire.decode(wire.body(wire.encode([long] * (wire.MAX_TENSORS + 1))))
    assert arrived == [long] * wire.MAX_TENSORS + [wire.Opaque("very long bytes")]


def test_a_seed_arrives_as_a_seed_and_becomes_a_generator_only_beside_the_code() -> None:
    assert crossed([wire.Seeded(7)]) == [wire.Seeded(7)]
    assert crossed(torch.Generator()) == wire.Opaque("Generator")
    drawn = Server().resolved(wire.Seeded(7))
    assert drawn.initial_seed() == 7
    assert Server().resolved(wire.Seeded(7)) is not drawn


def test_a_dictionary_with_other_keys_crosses_as_what_it_is() -> None:
    """Such as merges by pairs of ids: a wrong answer, and no breach of the protocol."""
    assert crossed({(1, 2): 256}).type_name.startswith("dict with other keys")
    assert crossed({1: 2, "a": None, 2.5: b"x"}) == {1: 2, "a": None, 2.5: b"x"}


def test_what_is_no_data_crosses_as_the_name_of_its_type() -> None:
    assert crossed(lambda: None) == wire.Opaque("function")
    assert crossed(torch.empty(2, device="meta")).type_name.startswith("meta tensor")
    assert crossed(torch.eye(2).to_sparse()).type_name.startswith("cpu tensor")


def frame(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<I", len(header)) + header + data


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xff\xff\xff",
        frame(b"null"),
        frame(b"[" * 100_000),
        frame(b'{"v":NaN,"t":[]}'),
        frame(b'{"v":{"T":0},"t":[]}'),
        frame(b'{"v":{"T":true},"t":[["float32",[1],4,null]]}', b"1234"),
        frame(b'{"v":{"T":0},"t":[["float32",[2],4,null]]}', b"1234"),
        frame(b'{"v":{"T":0},"t":[["float32",[-1,-1],4,null]]}', b"1234"),
        frame(b'{"v":{"T":0},"t":[["float32",[0,9223372036854775807,9],0,null]]}'),
        frame(b'{"v":{"T":0},"t":[["bool",[1],1,null]]}', b"\x02"),
        frame(b'{"v":{"T":0},"t":[["float32",[1],4,[1]]]}', b"1234"),
        frame(b'{"v":1,"t":[]}', b"left over"),
        frame(b'{"v":' + b'{"U":[' * 60 + b"1" + b"]}" * 60 + b',"t":[]}'),
        frame(b'{"v":{"D":[[{"U":[]},1]]},"t":[]}'),
        frame(b'{"v":{"I":1},"t":[]}'),
        frame(b'{"v":99999999999999999999,"t":[]}'),
        frame(b'{"v":{"B":0},"t":[["float32",[1],4,null]]}', b"1234"),
        frame(b'{"v":{"X":"abc"},"t":[]}'),
        frame(b'{"v":{"X":"AB"},"t":[]}'),
        frame(b'{"v":{"X":" ab "},"t":[]}'),
        frame(b'{"v":{"X":7},"t":[]}'),
        frame(b'{"v":{"X":"' + b"00" * 257 + b'"},"t":[]}'),
        frame(b'{"v":{"S":-1},"t":[]}'),
        frame(b'{"v":{"S":true},"t":[]}'),
        frame(b'{"v":{"S":9223372036854775808},"t":[]}'),
    ],
)
def test_a_malformed_frame_is_refused(body: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(body)


@settings(max_examples=300)
@given(st.binary(max_size=200), st.randoms(use_true_random=False))
def test_mutated_frames_raise_only_the_decoders_own_error(
    noise: bytes, random: random.Random
) -> None:
    value = [1, 2.5, "text", (None, True), {"a": torch.randn(2, 3)}, wire.Affine(2.0, 1.0), b"ab"]
    body = bytearray(wire.encode(value)[4:])
    for byte in noise:
        body[random.randrange(len(body))] = byte
    with contextlib.suppress(wire.WireError):
        wire.decode(body)


def test_the_fuzzer_runs() -> None:
    done = warm.run("-m", "tests.tools.fuzz_wire", "2000", "1", cwd=ROOT)
    assert "2000 mutated frames" in done.stdout


def test_a_text_of_many_lines_does_not_push_the_rest_away() -> None:
    assert clean("one\ntwo\n\nthree") == "one\ntwo\n\nthree"
    high = clean("ValueError: " + "\n" * 400 + "at last")
    assert high == "ValueError: \nat last"
    assert clean("line\n" * 90).count("\n") < 20


def test_what_is_no_data_keeps_the_name_of_its_type_however_often_it_crosses() -> None:
    once = wire.crossed([test_what_is_no_data_keeps_the_name_of_its_type_however_often_it_crosses])
    assert once == [wire.Opaque("function")]
    assert wire.crossed(once) == once
