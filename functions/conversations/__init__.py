"""The domain: conversations, their messages and turns. It knows no HTTP, no environment and no clock."""

VERSION = "0.1.0"
