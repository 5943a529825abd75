"""Running conversations: both conditions of every trial, observed, checked, judged and scored."""
