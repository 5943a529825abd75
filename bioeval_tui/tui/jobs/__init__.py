"""The screens of job files, and the forms that write and run them."""
