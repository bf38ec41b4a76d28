"""The capstone: a student's whole model learns a task, such as writing dates in ISO form.

`task` defines tasks and their learners, with the loop of every training; `tasks` lists the tasks by
name. For the task `dates`, `date_task` runs in the parent process, `training` and `date_learner` in
the training process, on the data of `languages` and `dates`. `child` is the training process, with
`pieces` (whose code is used), `looking` (attention), `behaviour` and the probes; it reports
`events`. `session` is the parent's end; `advice`, `words` and `report` present the results.
"""
