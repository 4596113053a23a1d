from .html_page import report as report
from .html_page import to_html as to_html
from .requirements import ReportToolsNotFound as ReportToolsNotFound
from .requirements import check_place as check_place
from .requirements import check_tools as check_tools

__all__: list[str]
