"""The learner of each task, by the task's name. Unlike the tasks, learners need torch."""

from __future__ import annotations

from grader.capstone.date_learner import DateLearner
from grader.capstone.prose_learner import ProseLearner
from grader.capstone.sort_learner import SortLearner
from grader.capstone.sum_learner import SumLearner
from grader.capstone.task import Learner

LEARNERS: dict[str, type[Learner]] = {
    "dates": DateLearner,
    "sort": SortLearner,
    "sums": SumLearner,
    "prose": ProseLearner,
}
