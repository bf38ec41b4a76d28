"""All numbers that decide when a mistake is named, and how each was chosen.

Shares are of weights (`Probe.weights`), 0 to 1. *Fitted* means: chosen by hand on the mistakes of
the library, pairs of them and public code, and checked on public code that was held back. That was
done once for all of them together; since then `grader scorecard --check` fails if a change of one
loses a name. *A limit* bounds the CPU time, or how much is said.
"""

from __future__ import annotations

# What explains what is wrong: recognition/evidence.py.

# Mistakes that are named in one answer. A limit: real code has two or three at once.
MAX_MISTAKES = 3
# The share of what a mistake shows that is there, if nothing else mixes with it. Fitted.
CLEAN = 0.9
# The share of what a mistake shows that may be right in the student's answer. Fitted.
AGAINST = 0.25
# A mistake is named that shows almost all of what is there, and almost nothing that is right there;
# or that explains more than half of what is left; or less of it, but in several checks. Chosen by
# hand, with the rule.
ALMOST_ALL, ALMOST_NONE = 0.85, 0.1
HALF, LEAST, SEVERAL_CHECKS = 0.6, 0.4, 2
# The share of what a mistake shows that no other one covers. Fitted.
VISIBLE = 0.3
# The share of what is left that one tensor has to be to speak for a mistake: one of many may look
# like it by chance. Fitted.
LITTLE = 0.1
# The share of what is left that the exceptions of a mistake have to explain to speak for it, where
# the source has what the mistake is about. Tried on three answers of public code.
BACKED = 0.25
# The share of all that is wrong that a mistake has to explain to be named though the source has the
# line that it changes as it should be. Fitted: the false names were below 0.11.
AGAINST_THE_SOURCE = 0.3
# The share of all that is wrong that the named mistakes have to explain together, unless they
# explain most of one failing check, or show nothing else and more than chance would, where nothing
# raises. If they explain less, the cause lies elsewhere. Fitted: two false names were at 0.06 and
# 0.10.
LEAST_IN_ALL = 0.15
# The share of the places with the same exception that a mistake has to explain for the exception to
# speak for it. Half of them, not fitted.
SAME_EXCEPTION = 0.5
# How many marks other than exceptions are enough for a mistake where hardly any call returns.
# Tried on mutants of right answers and on public code: one may agree by chance.
TELLING = 2
# The share of what is wrong, or of what a mistake shows, that leaves nothing to explain. Below 1
# for the rounding of single numbers.
SURE = 0.97

# Two at once: recognition/evidence.py, grading/diagnosis/diagnostician.py.

# The share of what is left that a pair may explain, to be one of those looked at. Fitted.
LEFT_OPEN = 0.5
# What a mark of both mistakes counts for, of which nobody knows what it looks like: half of one
# that is known.
MIXED = 0.5
# The share of what is left that a pair has to explain more than a single mistake. Chosen by hand.
BETTER_PAIR = 0.1
# Pairs that are made and compared. A limit: most are given up after one call, and a scale left out
# beside a softmax over the queries is the seventeenth.
LIKELY = 20
# Mistakes that are paired with each other, and those paired with the nearest one. Limits.
NEAR, WIDE = 10, 30
# Objects made and calls of pairs, after which no further pair is tried. A limit.
MOST_SPENT = 40

# One branch: recognition/branches.py. Tried on 138 answers with a known mistake in one branch of
# encoder, decoder, sublayer, transformer, attention and multi_head.

# The share of what is wrong that the branches have to explain more than the answer as a whole. The
# first value that was tried.
BETTER = 0.2
# The share of what is wrong in one branch that has to be explained there. At 0.47 a false name
# came up in `tests/data/public_style`.
ENOUGH_THERE = 0.85
# The same for several mistakes of which nothing is missing there: what both act on looks like
# neither. A missing mask and a missing dropout explain 0.83 of an encoder that has both.
ENOUGH_EXACT = 0.7

# Several in one answer: grading/diagnosis/composition.py.

# Mistakes in one answer, and the number of them that are begun with. Limits.
MOST_TOGETHER, STARTS = 4, 2
# Checks of which nothing is explained, in which two more are looked for at once. A limit.
PAIRED_CHECKS = 2
# Mistakes that are added to those found. A limit: an infinite fill beside a mask turned round was
# the fifteenth, a decay through the gradient beside a root of v that is wrong the fortieth.
TRIED = 48
# Of those, the best in a short check that are tried in all checks, and the most with those that
# do as well there. Limits.
EVERYWHERE, MOST_EVERYWHERE = 2, 5
# The share of what is wrong that one mistake explains if it explains no check as a whole, that one
# more has to explain, and that may be shown where the student's answer shows otherwise. Fitted.
ALONE, GAIN, AGAINST_TOGETHER = 0.2, 0.04, 0.02

# On other examples: grading/diagnosis/confirmation.py.

# Checks in which a mistake is tried, and examples of each. Limits.
CONFIRMING_CHECKS, CONFIRMING_EXAMPLES = 2, 2
# The share of what a mistake shows that may be right in the student's answer: where it is the only
# one, and where the others are there. Fitted.
AGAINST_ALONE, AGAINST_BESIDE = 0.25, 0.15
# Times that mistakes are looked for without those that other examples speak against. A limit.
ROUNDS = 3
# Checks in which a mistake that leaves nothing needs no other example. Fitted.
ENOUGH_CHECKS = 2

# What is asked, and what is said: grading/diagnosis/probing.py, grading/diagnosis/diagnostician.py.

# Probes that have to agree with a mistake before the others are taken to, and how many are enough
# if in all others the graded replies were wrong where the mistake's are. Fitted.
ENOUGH_PROBES, FEW_PROBES = 4, 2
# Mistakes that look the same and are both said, and the other examples that are asked to tell them
# apart. Limits.
MAX_ALIKE, MAX_HELD_OUT = 2, 6
# The share of what is wrong in a check that no mistake explains, if the search looks there. The
# half was taken, not fitted.
MOSTLY = 0.5

# The student's line: recognition/likeness.py. All fitted.

# The weight of what two lines share, of all that is in them, and by how much the next line has to
# be less alike.
ALIKE, CLEAR = 0.5, 0.08
# How like the right line one of the student's has to be, and how much less like the wrong one, to
# speak against the mistake between them.
AS_IT_SHOULD_BE, UNLIKE_WRONG = 0.65, 0.25
# How like each other two lines are that differ in the name of one variable at most. Not fitted:
# two lines that swap the axes of different tensors are at 0.82.
THE_SAME = 0.9
# What the name of a variable counts for, against 1 for a call, an operator or a number.
NAME = 0.4

# How many of the reference's marks must fit the shipped ones: grading/diagnosis/fingerprints.py.
# Not fitted: on the machine that made them, all do. A vanishing gradient is rounding, which differs
# between processors, and making the data anew takes up to minutes.
FITTING = 0.99
