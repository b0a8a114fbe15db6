"""The groups of results that rows of more than one file belong to, or that a picture shows."""

OURS = "Conversation Memory"
READ = "CPU of reading N messages of 500 B"
APPEND = "CPU of appending a message of 500 B to N"
WRITES = "Write units of the t-th turn (two messages of 1 KB)"
READS = "Read units of the t-th turn"
DOLLARS = "DynamoDB, dollars for a million turns such as the t-th"
