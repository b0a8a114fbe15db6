# Every target sets up what it needs: a virtual environment, and Node.js with the CDK command line where that is used.
# Nothing here needs Docker or root, and only `deploy` and `destroy` need an AWS account.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run token audit test test-fast test-faults bench bench-check check synth deploy destroy tools not-local clean

PYTHON := .venv/bin/python
ON_PATH := PATH="$(CURDIR)/.venv/bin:$$PATH" npm_config_update_notifier=false

# Two processes share the tests; a plain `pytest` runs them in one.
IN_TWO := -n 2 --dist loadgroup

PORT ?= 8080
LOCAL_DIR ?= .local

# Options of a deployment: STAGE=, AUTH=, MODEL=, and any other with OPTIONS="-c name=value"
CONTEXT = $(if $(STAGE),-c stage='$(STAGE)') $(if $(AUTH),-c auth='$(AUTH)') $(if $(MODEL),-c modelId='$(MODEL)') $(OPTIONS)

help:  ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/installed  ## the service on this machine (PORT=8080 LOCAL_DIR=.local AUTH=none|jwt MODEL_URL= MODEL=)
	@exec $(PYTHON) -m infra.local.run --port '$(PORT)' --local-dir '$(LOCAL_DIR)' \
	  --auth '$(or $(AUTH),none)' --model-url '$(MODEL_URL)' --model '$(MODEL)'

token: .venv/installed  ## a token for a service that runs with AUTH=jwt (USER=alice GROUPS=admin LOCAL_DIR=.local)
	@exec $(PYTHON) -m infra.local.sign_in --user '$(or $(USER),alice)' --groups '$(GROUPS)' --local-dir '$(LOCAL_DIR)'

audit: .venv/installed  ## what is broken in what is stored (LOCAL_DIR=.local; ARGS=--help tells how to audit AWS)
	@PYTHONPATH=functions $(PYTHON) -m audit --stack '$(LOCAL_DIR)/stack.json' $(ARGS)

test: check  ## check, then all tests
	$(PYTHON) -m pytest $(IN_TWO)

test-fast: .venv/installed  ## the tests that need neither a stack nor CDK, in less than a minute
	$(PYTHON) -m pytest -m 'not stack and not slow' $(IN_TWO)

test-faults: .venv/installed  ## the long proofs: faults of AWS at every call, load, fuzzing (half an hour)
	$(PYTHON) -m pytest --faults tests/faults

bench: .venv/installed  ## what it costs and how fast it is, beside bare botocore and peers (ARGS=--help)
	@$(PYTHON) -m tests.bench $(ARGS)

bench-check: .venv/installed  ## the budgets that are counted (they are part of make test, too)
	$(PYTHON) -m pytest tests/budgets

check: .venv/installed  ## lint, format and types
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy --config-file clients/python/pyproject.toml

synth: tools  ## the CloudFormation templates, in cdk.out
	$(ON_PATH) npx cdk synth --quiet $(CONTEXT)

deploy: tools not-local  ## into the AWS account of your credentials (STAGE= AUTH= MODEL= OPTIONS="-c name=value")
	$(ON_PATH) npx cdk deploy --all $(CONTEXT)

destroy: tools not-local  ## remove what was deployed (with the same options)
	$(ON_PATH) npx cdk destroy --all $(CONTEXT)

clean:  ## remove what was installed and built; the conversations in .local stay
	rm -rf .venv node_modules cdk.out .pytest_cache .mypy_cache .ruff_cache .hypothesis

tools: .venv/installed
	@$(PYTHON) -m infra.local.node

not-local:
	@if env | grep -Eq '^AWS_ENDPOINT_URL[A-Z_0-9]*=https?://(127\.|localhost|\[::1\])'; then \
	  echo 'AWS_ENDPOINT_URL points at this machine: unset it to reach an account (for this machine: make run)' >&2; \
	  exit 1; \
	fi

.venv/installed: requirements.txt functions/requirements.txt
	@sh infra/local/venv.sh
