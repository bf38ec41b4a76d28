"""What checks of training hand over, and how: objects on the other side, and parts of them."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Recorder, StudentError, same
from grader.remote.wire import Once

SHAPES = {"matrix": [2, 3], "scale": []}


def student(**names: Any) -> tuple[Student, Recorder]:
    """A student whose module has these names, and the session that asks it."""
    session = Recorder(Server(SimpleNamespace(**names)))
    return Student(session), session


def test_parts_of_objects_arrive_wherever_they_are_in_the_arguments() -> None:
    seen = []

    def function(*args: Any, **kwargs: Any) -> None:
        groups, (first, text), once = args
        seen.extend([groups[0]["params"][0], first, [*once][1], kwargs["named"]])
        assert text == "as it is"

    remote, _ = student(function=function)
    model = remote.give("Quadratic", SHAPES)
    remote.function(
        [{"params": [model.matrix]}],
        (model.scale, "as it is"),
        Once((model.scale, model.matrix)),
        named=model,
    )
    matrix, scale, again, whole = seen
    assert matrix is again is whole.matrix
    assert scale is whole.scale


def test_a_function_of_the_students_is_no_argument() -> None:
    remote, _ = student(function=lambda *_: None, other=lambda *_: None)
    with pytest.raises(TypeError, match="other"):
        remote.function(remote.other)


def test_autograd_is_on_where_it_is_asked_for() -> None:
    remote, _ = student(enabled=torch.is_grad_enabled)
    assert remote.enabled() is False
    assert remote.enabled.recording() is True


def test_what_is_kept_stays_and_can_be_copied_and_handed_on() -> None:
    made = {"deep": [torch.zeros(2)]}
    remote, _ = student(make=lambda: made, edit=lambda x: x["deep"][0].add_(1), get=lambda x: x)
    kept = remote.make.kept()
    copy = kept.copy()
    remote.edit(copy)
    assert made["deep"][0].tolist() == [0, 0]
    assert remote.get(copy)["deep"][0].tolist() == [1, 1]


def test_the_learning_rate_of_a_group_is_set() -> None:
    remote, _ = student()
    model = remote.give("Quadratic", SHAPES)
    optimiser = remote.give("Momentum", [{"params": [model.matrix]}, {"params": [model.scale]}])
    optimiser.param_groups[1].set("lr", 0.5)
    model.set_gradients({"matrix": torch.ones(2, 3), "scale": torch.ones(())})
    optimiser.step.recording()
    returned = model.weights(SHAPES)
    assert torch.allclose(returned["matrix"], torch.full((2, 3), 0.9))
    assert returned["scale"].item() == 0.5


def test_a_closure_makes_the_gradients_and_fails_where_nothing_is_recorded() -> None:
    remote, _ = student(call=lambda closure: closure())
    model = remote.give("Quadratic", SHAPES)
    assert remote.call.recording(model.closure).item() == 3.5
    assert model.gradients()["scale"].item() == 1.0
    with pytest.raises(StudentError, match="does not require grad"):
        remote.call(model.closure)


def test_a_learner_is_another_function_in_training_mode() -> None:
    remote, _ = student(run=lambda model, src, tgt: model(src, tgt))
    model = remote.give("Learner", 5, 4, 3, 8, 2)
    ids = torch.tensor([[1, 3, 0]])
    trained = remote.run.recording(model, ids, ids)
    evaluated = remote.run(model.eval(), ids, ids)
    assert not torch.allclose(trained, evaluated)
    assert model.calls.get() == [(True, True), (False, False)]


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        ((6, 4), (6,), "three axes"),
        ((2, 4, 3), (2, 3), "vocabulary"),
        ((2, 5, 4), (2, 3), "each label"),
    ],
)
def test_the_loss_says_which_shape_is_wrong(
    logits: tuple[int, ...], labels: tuple[int, ...], message: str
) -> None:
    remote, _ = student(call=lambda loss, *args: loss(*args))
    loss = remote.give("MeanLoss", 0, 4)
    with pytest.raises(StudentError, match=message):
        remote.call(loss, torch.zeros(logits), torch.ones(labels, dtype=torch.long))


def test_requests_with_batches_that_are_read_once_can_be_compared() -> None:
    def request(tensor: Tensor) -> dict[str, Any]:
        return {"args": [Once(((tensor, tensor),))]}

    assert same(request(torch.ones(2)), request(torch.ones(2)))
    assert not same(request(torch.ones(2)), request(torch.zeros(2)))


@pytest.mark.full(seconds=2)
def test_an_optimiser_does_not_import_torchs_compiler() -> None:
    """A second for every process that makes one."""
    code = (
        "import sys, torch; from grader.remote import fixtures;"
        "weight = torch.nn.Parameter(torch.ones(2)); weight.grad = torch.ones(2);"
        "optimiser = fixtures.make('Momentum', [weight]); optimiser.zero_grad();"
        "optimiser.load_state_dict(optimiser.state_dict()); optimiser.step();"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
