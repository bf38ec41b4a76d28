"""The recorded checks that tests share: of each exercise a process records them once."""

from grader.grading.recording import Recordings

RECORDINGS = Recordings(2017)
