"""Columns of Plan.efforts, Plan.acted and Plan.sources: energetic elements and external loads."""

# Plan.efforts. FIRST_STATE and FIRST_MEMORY count in z. MOTION_RECORD and LOAD_RECORD say where the motion
# and the N_LOAD numbers of the load of the element stand in Work.effort_records. REACTION is the chord whose
# load the element needs, or -1; FRAME the body whose hinge that chord closes, or 0: loads along the motions of
# this hinge do not count. DUAL is the address of the element on dual numbers, or 0.
(
    ADDRESS, PARAMETER, REMEMBER, FIRST_END, N_ENDS, FIRST_ACTED, N_ACTED, FIRST_STATE, N_STATES,
    FIRST_INPUT, N_INPUTS, FIRST_MEMORY, N_MEMORY, MOTION_RECORD, LOAD_RECORD, N_LOAD, REACTION, EXTERNAL,
    FRAME, DUAL,
) = range(20)  # fmt: skip
N_COLUMNS = 20

# Plan.acted: the coordinate and the speed an element acts on.
ACTED_Q, ACTED_U = range(2)

# Plan.sources: where an input comes from.
SOURCE_KIND, SOURCE_INDEX = range(2)
FROM_SIGNAL, FROM_MEMORY, FROM_Q, FROM_U = range(4)

# Numbers of the energy audit for each effort: work on the bodies, dissipated, supplied.
N_AUDIT = 3
