from .entries import ENTRIES as E, _status,_f,_n
from .alpha import alpha_integrate
from .loop_residual import loop_residual
ENTRIES={**E,"loop_residual":(loop_residual,_status(_f,_n,_n,_n)),"alpha_integrate":(alpha_integrate,_status(*[_n]*20))}
