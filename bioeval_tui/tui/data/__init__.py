"""What the screens call: files, engines and grading workers behind one class,
`services.AppServices`.
"""
