"""What clients ask for before they start: which system this is, and of which version."""

from collections.abc import Mapping
from typing import Any

INFO: Mapping[str, Any] = {
    "name": "conversation-memory",
    "cluster_name": "conversation-memory",
    "cluster_uuid": "_na_",
    "version": {
        "distribution": "opensearch",
        "number": "3.8.0",
        "build_snapshot": False,
        "minimum_wire_compatibility_version": "2.19.0",
        "minimum_index_compatibility_version": "2.0.0",
    },
    "tagline": "The OpenSearch Project: https://opensearch.org/",
}
