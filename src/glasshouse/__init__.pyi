from . import data as data
from . import disclosure as disclosure
from . import formal as formal
from . import protection as protection
from . import synthesis as synthesis
from . import utility as utility
from .catalogue import check as check
from .catalogue import explain as explain
from .catalogue import measures as measures
from .core.errors import GlasshouseError as GlasshouseError
from .core.errors import InputError as InputError
from .data.pair import Pair as Pair
from .disclosure.rapid.cross_validation import rapid_cv as rapid_cv
from .engines.devices import device as device
from .formal.risk import Risk as Risk
from .judgement.audit import audit as audit
from .judgement.mitigation.mitigate import mitigate as mitigate
from .judgement.mitigation.mitigated import Mitigated as Mitigated
from .judgement.policy.policy import Policy as Policy
from .judgement.rumap.compare import compare as compare
from .judgement.rumap.map import RUMap as RUMap
from .judgement.scenarios.run import scenarios as scenarios
from .judgement.verdict.assess import assess as assess
from .show.app.start import app as app

__version__: str
