"""How many tokens a model takes, by families of model ids, where that is known.

After the pages of the models in the Amazon Bedrock user guide ("Amazon Nova", "Anthropic Claude Messages API", "Meta
Llama models", "Mistral AI models", "Amazon Titan Text models", "Cohere Command R", "AI21 Labs Jamba", "DeepSeek",
"OpenAI models"). A model that is not here is asked with the deployment's own limit, and what it says to that is kept.
"""

from functools import lru_cache

_K = 1_000
_LENGTHS = (
    # the first that the id begins with counts
    ("amazon.nova-micro", 128 * _K),
    ("amazon.nova-lite", 300 * _K),
    ("amazon.nova-pro", 300 * _K),
    ("amazon.nova-premier", 1_000 * _K),
    ("amazon.titan-text-lite", 4_096),
    ("amazon.titan-text-express", 8_192),
    ("amazon.titan-text-premier", 32 * _K),
    ("anthropic.claude-instant", 100 * _K),
    ("anthropic.claude-v2:1", 200 * _K),
    ("anthropic.claude-v2", 100 * _K),
    ("anthropic.claude", 200 * _K),
    ("meta.llama3-1", 128 * _K),
    ("meta.llama3-2", 128 * _K),
    ("meta.llama3-3", 128 * _K),
    ("meta.llama3-", 8_192),
    ("meta.llama4-", 128 * _K),
    ("mistral.mistral-7b", 32 * _K),
    ("mistral.mixtral-8x7b", 32 * _K),
    ("mistral.mistral-large-2402", 32 * _K),
    ("mistral.mistral-small-2402", 32 * _K),
    ("mistral.mistral-large-2407", 128 * _K),
    ("mistral.pixtral-large", 128 * _K),
    ("cohere.command-r", 128 * _K),
    ("ai21.jamba-1-5", 256 * _K),
    ("deepseek.r1", 128 * _K),
    ("openai.gpt-oss", 128 * _K),
)


@lru_cache(maxsize=64)  # a deployment asks for one or two, several times a turn
def context_length(model_id: str) -> int | None:
    """The tokens of a model's context, prompt and answer together; ``None`` where it is not known.

    An inference profile (``eu.amazon.nova-lite-v1:0``, also as an ARN) has that of its model.
    """
    name = model_id.rpartition("/")[2]
    names = (name, name.partition(".")[2])
    return next((tokens for family, tokens in _LENGTHS if any(name.startswith(family) for name in names)), None)
