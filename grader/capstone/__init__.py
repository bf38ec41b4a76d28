"""The capstone: a student's whole model learns to write dates in ISO form.

`languages` and `dates` make what it learns from. `child` is the process that trains, with `pieces`
(whose code it is), `training`, `looking` (its attention), `behaviour` and the probes; it says in
`events` what happens. `session` is the other side; `advice` and `report` make something of it.
"""
