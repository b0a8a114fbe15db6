"""The groups of results that rows of more than one file belong to, or that a picture shows."""

READ = "Processor time of reading a conversation of messages of 500 bytes, by how many they are"
APPEND = "Processor time of appending one message of 500 bytes, by how many there are"
WRITES = "Write units of the t-th turn (two messages of 1 KB)"
READS = "Read units of the t-th turn"
DOLLARS = "DynamoDB, dollars for a million turns such as the t-th"
