"""Skip comparisons with packages that are not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("ppi_py") else ["test_ppi_python.py"]
collect_ignore += [] if find_spec("atif") else ["test_atif.py"]
