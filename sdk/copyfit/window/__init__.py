"""The last stages before a model input goes out: compose, window, validate."""
