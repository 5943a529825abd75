"""The formats a report is written in: console, Markdown, HTML, JSON, JUnit and Inspect logs."""
