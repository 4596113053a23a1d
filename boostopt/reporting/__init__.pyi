from .page import report as report
from .page import to_html as to_html
from .tools import ReportToolsNotFound as ReportToolsNotFound
from .tools import check_place as check_place
from .tools import check_tools as check_tools

__all__: list[str]
