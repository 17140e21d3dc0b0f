from .operation import Operation as Operation
from .operation import Protected as Protected
from .operation import operations as operations
from .recipe import Recipe as Recipe
from .recipe import Step as Step
from .recipe import apply as apply
from .rounding import round_numbers as round_numbers
