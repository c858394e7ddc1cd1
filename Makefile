# The one entry: every target is a line of an ordinary command, and makes what it needs from nothing.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest
# In CI a failed test on a real API server is tried once more, and the summary lists it.
AGAIN := $(if $(CI),-p rerunfailures --rerun-show-tracebacks --max-suite-reruns=3)
# Tests run beside one another, a module at a time; four on two cores, because those on an API server mostly wait. Tests that measure
# time or memory are marked `alone`, and run alone, by `make neighbours`.
WORKERS ?= 4
BESIDE := -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(AGAIN)
ALONE := -m alone $$(grep -rl --include='*.py' mark.alone tests)
# Tests start hundreds of processes: where the environment forbids to keep compiled modules, each would compile all of ours
export PYTHONDONTWRITEBYTECODE =

.PHONY: help serve demo up test beside unit golden laws hostile cluster line15 neighbours browser site playground compiled build-compiled bench bench-graphs lint types contracts size format generate docs stale assets release lock new-rule clean

help: ## what there is to make
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
	@touch $@

serve: $(READY) ## a server with its own certificates and no cluster; asks it one question, then serves until Ctrl-C
	$(BIN)/python -m dynamo_webhooks.webhooks.demo

demo: $(READY) ## as serve, but stops after the answer
	$(BIN)/python -m dynamo_webhooks.webhooks.demo --once

up: $(READY) ## server and reconciler beside an API server of the tests, with `dynamo-webhooks up`, until Ctrl-C
	$(BIN)/python -m tests.cluster.trying

test: lint ## lint, types, and all tests but those of `make neighbours` and `make browser`; they look at contracts and generated files, too
	$(MAKE) --no-print-directory -j2 types beside

beside: $(READY)
	$(PYTEST) $(BESIDE) -m 'not alone and not neighbours and not browser'

unit: $(READY) ## the tests without a cluster and without the recorded answers, or those in TESTS
	$(PYTEST) $(BESIDE) -m 'not cluster and not golden and not alone and not neighbours and not browser' $(TESTS)
	$(PYTEST) -m 'alone and not cluster and not golden' $(TESTS) || [ $$? -eq 5 ]  # 5: TESTS has none of these

golden: $(READY) ## the recorded answers of the Go operator, in tests/golden/recorded
	$(PYTEST) $(BESIDE) -m golden

laws: $(READY) ## the laws of conversion on ten thousand generated objects a kind and direction, from the seed of the day
	LAWS_SEED=$(or $(LAWS_SEED),$(shell date +%Y%m%d)) LAWS_OBJECTS=$(or $(LAWS_OBJECTS),10000) $(PYTEST) tests/laws

hostile: $(READY) ## two hundred thousand damaged reviews, and as many through a server, from a fresh seed that is printed
	HOSTILE_REVIEWS=$(or $(HOSTILE_REVIEWS),200000) HOSTILE_SERVED=$(or $(HOSTILE_SERVED),200000) $(PYTEST) tests/hostile

cluster: $(READY) ## the tests on a real API server, built once from Go modules
	$(PYTEST) $(BESIDE) -m 'cluster and not alone and not neighbours'
	$(PYTEST) -m 'cluster and alone'

line15: $(READY) ## all recorded writes of operator line 1.5 through a real API server, in about ten minutes
	LINE15_EVERY=1 $(PYTEST) -s tests/cluster/webhooks/test_line15.py -k answered

neighbours: $(READY) ## the tests with real LeaderWorkerSets, scheduler, cert-manager, promtool and actionlint, those of a whole release, and those that measure
	$(PYTEST) $(AGAIN) $(ALONE)
	$(PYTEST) $(BESIDE) -m 'neighbours and not alone'

browser: site ## the site and the page of a report in a headless Chromium, which must be on the PATH
	$(PYTEST) -m browser

# mkdocs has an environment of its own: nothing else needs what it is made of
SITE_READY := build/site-venv/.ready
$(SITE_READY): requirements-site.lock
	$(PYTHON) -m venv build/site-venv
	build/site-venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-site.lock
	@touch $@

export SITE
site: $(READY) $(SITE_READY) ## the site of docs/ in build/site, the same bytes each time; SITE=https://... is its address
	$(BIN)/python -m tools.site.pages --playground
	NO_MKDOCS_2_WARNING=1 SOURCE_DATE_EPOCH=0 build/site-venv/bin/mkdocs build -q --strict -f build/site-source/mkdocs.yml -d ../site
	$(MAKE) --no-print-directory playground

playground: $(READY) ## the page that runs the commands in the browser, in build/site/playground; needs Node and npm
	$(BIN)/python -m tools.playground

bench: build-compiled ## speed, waiting times and memory of the server as it is shipped beside a bare one, then, interpreted, beside the last release or AGAINST=commit; about eight minutes
	BENCH_TREE=$(abspath build/compiled) $(BIN)/python -m tests.bench --write
	$(BIN)/python -m tests.bench --against $(AGAINST) --write

compiled: build-compiled ## the tests of what mypyc compiles, or TESTS, on the compiled modules, in a copy in build/compiled
	cd build/compiled && $(abspath $(BIN))/python -m pytest $(BESIDE) -m 'not interpreted and not cluster and not alone' $(or $(TESTS),$(patsubst %,tests/%,admission api conversion golden laws policies webhooks))

build-compiled: $(READY)
	rm -rf build/compiled && mkdir -p build/compiled && git ls-files -z | tar --null --files-from=- -cf - | tar -xf - -C build/compiled
	git -C build/compiled init -q && git -C build/compiled add -A
	cd build/compiled && DYNAMO_WEBHOOKS_COMPILE=1 $(abspath $(BIN))/python setup.py --quiet build_ext --inplace

bench-graphs: $(READY) ## the reconciler with GRAPHS=1000 graphs at once, and MODELS=0; GRAPHS="100 1000" shows growth
	$(BIN)/python -m tests.bench --write --graphs $(or $(GRAPHS),1000) --models $(or $(MODELS),0)

lint: $(READY) ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, strict, code and tests
	$(BIN)/mypy

contracts: $(READY) ## which room may import which
	$(BIN)/lint-imports

size: ## lines of Python by room, beside its budget and the last tag
	$(PYTHON) -m tools.size

format: $(READY) ## ruff's formatter and its safe fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

generate: $(READY) ## schemas and CRDs from the models, the index of rules, and the generated pages of docs/
	$(BIN)/python -m tools.schemas
	$(BIN)/python -m tools.rule_index
	$(BIN)/python -m tools.crd_files
	$(BIN)/python -m tools.pages

docs: generate ## the same

stale: $(READY) ## fails when a generated file is not what its generator writes
	$(BIN)/python -m tools.schemas --check
	$(BIN)/python -m tools.rule_index --check
	$(BIN)/python -m tools.crd_files --check
	$(BIN)/python -m tools.pages --check

assets: $(READY) ## programs of the cluster tests from Go modules, cached outside the tree; some of them with SETS='assets helm'
	$(BIN)/python -m tests.cluster.assets.build $(SETS)

release: $(READY) ## what a release holds, of the tagged commit, in dist
	$(BIN)/python -m tools.release

LOCK := $(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-annotate --universal --python-version 3.11 pyproject.toml
lock: $(READY) ## newest versions and their hashes into requirements.lock, and of these what the server and commands on files need
	$(BIN)/python -m pip install --quiet uv
	$(LOCK) --upgrade --extra dev -o requirements.lock
	$(LOCK) --extra server -c requirements.lock -o requirements-server.lock
	$(LOCK) -c requirements.lock -o requirements-files.lock
	$(LOCK) --extra lsp -c requirements.lock -o requirements-lsp.lock
	$(subst pyproject.toml,--group site,$(LOCK)) --upgrade -o requirements-site.lock

new-rule: $(READY) ## make new-rule NAME=graph/my-wrong-thing
	$(BIN)/python -m tools.new_rule $(NAME)

clean: ## what make made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .serve
