"""The synthetic study: its true laws, data, trainings and evaluations."""
