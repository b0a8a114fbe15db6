"""Names of attributes, keys and indexes of the two tables.

Access patterns
---------------
====================================  ==================================================================
append (user, answer, batch)          GetItem conversation (consistent) + one TransactWriteItems
newest or oldest page of messages     GetItem conversation + Query ``conversationId-createdAt`` + repairs
one message, an answer, a turn        one consistent BatchGetItem over both tables
an owner's conversations              Query ``owner-updatedAt`` + records of the last minutes + BatchGetItem
all conversations by recency          Query ``activeMonth-activeHour`` + BatchGetItem
traces of a message                   Query ``traceConversationId-traceKey`` + BatchGetItem of the last minute's
a change in place                     one consistent BatchGetItem + one TransactWriteItems
====================================  ==================================================================

The infrastructure has its own copy of the table shapes; a test holds the two equal.
"""

ID = "id"
EXPIRES_AT = "expiresAt"  # seconds since the epoch: the TTL attribute of both tables

# Messages
CONVERSATION_ID = "conversationId"
CREATED_AT = "createdAt"
PLACE = "place"  # what every message has, in eight short words
WORDS = "words"  # the text of a message that is nothing else
BODY = "body"  # all the rest, in one JSON document
REV = "rev"  # for the condition of a change
MESSAGES_INDEX = "conversationId-createdAt"

# Messages: traces (sparse index)
TRACE_CONVERSATION_ID = "traceConversationId"
TRACE_KEY = "traceKey"
TRACES_INDEX = "traceConversationId-traceKey"

# Messages: the working state of a turn
STATUS = "status"
ATTEMPT = "attempt"
LEASE_UNTIL = "leaseUntil"  # milliseconds since the epoch
PARTIAL = "partial"
ERROR = "error"
ASKED_KEY = "askedKey"
HOLDER = "holder"

# Conversations
OWNER = "owner"
UPDATED_AT = "updatedAt"
VERSION = "version"
CHAIN = "chain"
LAST_MESSAGE_ID = "lastMessageId"
LAST_MESSAGE_AT = "lastMessageAt"
MESSAGE_COUNT = "messageCount"
ABOUT = "about"
DELETED_AT = "deletedAt"
CLEARED_AT = "clearedAt"  # on the write that cleared, and gone with the next one  # only tombstones have it
SESSION_RECORD_ID = "sessionRecordId"  # of tombstones
TTL_DAYS = "ttlDays"
LAST_SYSTEM_MESSAGE_ID = "lastSystemMessageId"
REQUEST_HASH = "requestHash"
NOTES = "notes"  # counts of changes and traces, and the places of the last changes
TRACE_COUNT = "traceCount"  # of tombstones
ACTIVE_MONTH = "activeMonth"
ACTIVE_HOUR = "activeHour"
OWNER_INDEX = "owner-updatedAt"
ACTIVITY_INDEX = "activeMonth-activeHour"

# Conversations: records that are no conversations
REQUEST_OUTCOME = "outcome"  # what a repeatable request comes to
MEMBERS = "members"  # ids of an owner's conversations created within one minute
TARGET = "target"  # the conversation that a session id stands for
