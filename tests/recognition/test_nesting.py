"""The order of steps is read whatever they are called and on however many lines they stand."""

from __future__ import annotations

from grader.grading.diagnosis.reading import Reading
from grader.recognition.nesting import steps

LAYER = """
class EncoderLayer(nn.Module):
    def forward(self, x, mask=None):
        attended = self.self_attn(x, x, x, mask)
        {first}
        {second}
        return x
"""


def test_steps_on_one_line_and_on_three_are_the_same() -> None:
    one = "def f(x):\n    return norm(x + drop1(g(x)))"
    three = "def f(x):\n    y = self.drop(g(x))\n    y = x + y\n    return self.norms[0](y)"
    assert steps(one) == steps(three) == {("norm", "+"), ("+", "dropout"), ("dropout", "g")}
    assert steps("def f(") == steps("x = " + "(" * 5000) == frozenset()


def test_the_order_in_the_source_decides_between_mistakes_that_look_the_same() -> None:
    """Whether the dropout acts on the sum or on what the norm returns, all is zero at p = 1."""
    names = ("dropout_after_the_norm", "dropout_on_the_sum")
    after = LAYER.format(first="x = self.norm1(x + attended)", second="x = self.drop1(x)")
    assert Reading("encoder", after).nearest(names) == names[:1]
    before = LAYER.format(first="x = self.drop1(x + attended)", second="x = self.norm1(x)")
    assert Reading("encoder", before).nearest(names) == names[1:]
    neither = LAYER.format(first="x = self.sublayers(x, attended)", second="pass")
    assert Reading("encoder", neither).nearest(names) == names
