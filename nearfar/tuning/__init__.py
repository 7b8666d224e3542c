"""References from runs: limits with statistics that hold, as a diff that a person reviews."""
