"""The memory API of OpenSearch ML Commons, over the same conversations as our own.

``dialect`` answers a request: ``routes`` finds what is asked for, ``requests`` holds what was sent and knows what of it
nobody read, ``rendering`` writes the answer. ``memories``, ``messages``, ``searches`` and ``first_generation`` are the
routes themselves; ``bodies`` and ``parameters`` read, ``shapes`` and ``errors`` are what OpenSearch answers.

Nothing here is loaded before the first request of this dialect comes.
"""
