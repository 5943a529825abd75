"""The application in a browser: who may open it, the page and its assets, and a process for each tab."""
