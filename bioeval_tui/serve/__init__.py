"""The application in a browser: access, the page and its assets, and a process for each tab."""
