"""What DynamoDB charges, and what a use of it comes to."""

DATE = "2026-11-30"
SOURCE = "https://aws.amazon.com/dynamodb/pricing/on-demand/ (us-east-1, standard tables)"
DOLLARS_PER_MILLION_WRITE_UNITS = 0.625
DOLLARS_PER_MILLION_READ_UNITS = 0.125


def dollars_per_million(write_units: float, read_units: float) -> float:
    """What a million uses cost, of which each takes these units."""
    return write_units * DOLLARS_PER_MILLION_WRITE_UNITS + read_units * DOLLARS_PER_MILLION_READ_UNITS
