from .classifiers.kinds import members_of as members_of
from .classifiers.members import Members as Members
from .classifiers.reweighted import Reweighted as Reweighted
from .classifiers.reweighting import ReweightOptions as ReweightOptions
from .classifiers.reweighting import reweight as reweight
from .classifiers.reweighting_one_vs_rest import OneVsRestReweighted as OneVsRestReweighted
from .classifiers.reweighting_one_vs_rest import reweight_one_vs_rest as reweight_one_vs_rest

__all__: list[str]
