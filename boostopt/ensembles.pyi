from .classifiers.kinds import members_of as members_of
from .classifiers.members import Members as Members
from .classifiers.reweighted import Reweighted as Reweighted
from .classifiers.reweighting import ReweightOptions as ReweightOptions
from .classifiers.reweighting import reweight as reweight

__all__: list[str]
