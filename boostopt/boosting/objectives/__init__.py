"""The objectives of runs over a class of hypotheses, and bounds of them from histograms of margins."""
