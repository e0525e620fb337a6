"""Files from elsewhere: downloaded, verified and unpacked."""
