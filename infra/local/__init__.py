"""What ``make run`` runs: the deployed service on this machine, on loopback, without an AWS account."""
