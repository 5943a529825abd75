"""Fuzzing: thousands of damaged and hostile files, texts and answers give one sentence each and no
crash.
"""
