from .member_extraction import members_of as members_of
from .members import Members as Members
from .reweight import ReweightOptions as ReweightOptions
from .reweight import reweight as reweight
from .reweight_one_vs_rest import OneVsRestReweighted as OneVsRestReweighted
from .reweight_one_vs_rest import reweight_one_vs_rest as reweight_one_vs_rest
from .reweighting_result import Reweighted as Reweighted

__all__: list[str]
