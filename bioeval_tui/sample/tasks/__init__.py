"""Tasks on real biomedical data that ship with the program; each folder explains itself in description.md."""
