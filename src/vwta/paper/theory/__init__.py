"""The paper's theory: asymptotic risks, identities, and what they say of trained networks."""
