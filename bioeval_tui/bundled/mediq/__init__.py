"""MediQ, the benchmark of experts that must ask: a job, a hundred of its cases, and their
source.
"""

from pathlib import Path

job = Path(__file__).with_name("mediq.yml")
