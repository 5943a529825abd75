"""The formats of reports: console, Markdown, HTML, JSON, JUnit, Inspect logs and others."""
