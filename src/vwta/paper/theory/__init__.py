"""The paper's theory: asymptotic risks, identities, and their predictions for trained networks."""
