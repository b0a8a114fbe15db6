"""This API described as OpenAPI 3.1.

Nothing outside this package imports it but the route that answers with the document, and that only when it is called:
a cold start does not pay for it.
"""
