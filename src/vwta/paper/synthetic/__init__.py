"""The synthetic study: draw the data, train the networks, evaluate the estimators."""
