"""The included tasks on real biomedical data; description.md in each folder describes the task."""
