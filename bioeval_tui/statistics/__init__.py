"""The one room of numbers about runs and gradings: no I/O, no state, nothing of jobs or screens.

means         means, medians, percentiles, differences of two values, thresholds
intervals     the 95 % interval of a mean, a share or another statistic
estimates     samples of conversations: their mean with its interval, pass^k, response times
differences   paired differences, p-values, corrections for many tests, ranks
judges        agreement of judges with people, and means corrected by people
planning      how many cases and trials, and when to stop
"""
