"""What is handed out solved works as its solution does, and gives nothing away of what is asked."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from grader.course import building
from grader.curriculum import handed_out, reference, stubs

B, H, LT, LS, D = 2, 2, 4, 5, 8
SIZES = {"d_model": D, "n_heads": H, "d_ff": 12}


def modules(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    source = handed_out.source(name)
    assert source is not None
    module: dict[str, Any] = {"__name__": "handed_out"}
    exec(source, module)
    return module, vars(reference.module(name))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_the_other_form_computes_what_the_solution_does(
    name: str, activation: str, norm_first: bool
) -> None:
    torch.manual_seed(0)
    entry = name.capitalize()
    reference, solution = (
        item[entry](3, **SIZES, activation=activation, norm_first=norm_first).double().eval()
        for item in modules(name)
    )
    assert {key: value.shape for key, value in reference.named_parameters()} == {
        key: value.shape for key, value in solution.named_parameters()
    }
    weights = {key: torch.randn_like(value) * 0.5 for key, value in solution.named_parameters()}
    for module in (reference, solution):
        module.load_state_dict(weights, strict=False)
    x, memory = torch.randn(B, LT, D).double(), torch.randn(B, LS, D).double()
    causal = torch.ones(LT, LT, dtype=torch.bool).tril()
    padding = torch.ones(B, 1, 1, LS, dtype=torch.bool)
    padding[0, ..., -2:] = False
    inputs = (x, causal) if name == "encoder" else (x, memory, causal, padding)
    torch.testing.assert_close(reference(*inputs), solution(*inputs))
    with torch.no_grad():
        torch.testing.assert_close(reference(*inputs), solution(*inputs))
    no_mask = torch.zeros(LT, LT, dtype=torch.bool)
    assert reference(*inputs[:-1], no_mask if name == "encoder" else padding).isfinite().all()
    reference.train()
    assert not torch.equal(reference(*inputs), reference(*inputs))


def test_a_wrong_size_is_refused() -> None:
    module, _ = modules("decoder")
    with pytest.raises(ValueError, match="n_heads=3"):
        module["Decoder"](1, 8, 3, 8)


def test_a_notebook_shows_no_line_of_an_answer_that_is_asked_for() -> None:
    assigned = ("attention", "multi_head", "encoder", "transformer")
    notebook = building.notebook("transformer", assigned)
    shown = "\n".join(
        cell.source for cell in notebook.cells if str(cell.metadata.grader.part).endswith("-given")
    )
    answers = {
        line.strip()
        for name in assigned
        for answer in re.findall(
            r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", stubs.solution(name), re.DOTALL
        )
        for line in answer.splitlines()
        if len(line.strip()) > 24
    }
    assert "Decoder" in shown
    # Every module with a dropout has this line.
    answers.discard("self.dropout = nn.Dropout(dropout)")
    assert not answers & {line.strip() for line in shown.splitlines()}
