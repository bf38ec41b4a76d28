"""The capstone: a student's whole model learns a task, such as writing dates in ISO form.

`task` says what a task and its learner are, and has the loop of every training; `tasks` has the
tasks by name. Of `dates`, `date_task` is the side that waits; `training` and `date_learner` are the
side that trains, with what `languages` and `dates` make. `child` is the process that trains, with
`pieces` (whose code it is), `looking` (its attention), `behaviour` and the probes; it says in
`events` what happens. `session` is the other side; `advice`, `words` and `report` make something
of it.
"""
