"""Broken and hostile files, texts and answers, thousands of each: nothing but a sentence may come of them."""
