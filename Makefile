# The one entry: every target is a line of an ordinary command, and makes what it needs from nothing.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest
# Modules of tests run beside one another: two on two cores, and four where tests mostly wait for an API server.
WORKERS ?= 2
BESIDE = -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20 $(if $(LAWS_SEED),--randomly-seed=$(LAWS_SEED)) $(REPORT)
# what `make test` leaves to the other targets: it needs Python alone
ELSEWHERE := cluster or neighbours or browser or node or nightly
# Tests start hundreds of processes: where the environment forbids to keep compiled modules, each would compile all of ours
export PYTHONDONTWRITEBYTECODE =

.PHONY: help serve demo up test unit check cluster neighbours browser node nightly laws hostile site playground compiled build-compiled bench scale lint types contracts format generate docs stale assets release lock new-rule clean

help: ## what there is to make
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# locked packages, then this checkout
define install
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes $(1)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
endef

$(READY): pyproject.toml requirements.lock
	@echo 'first the packages of the tests, once: about two minutes'
	$(call install,-r requirements.lock)

# the server's packages alone, unless all are there
SERVER_READY := $(or $(wildcard $(READY)),$(VENV)/.server-ready)
$(VENV)/.server-ready: pyproject.toml requirements-build.lock requirements-server.lock
	@echo 'first the packages of the server, once: about a minute'
	$(call install,-r requirements-build.lock -r requirements-server.lock)

serve: $(SERVER_READY) ## a server with its own certificates and no cluster; asks it one question, then serves until Ctrl-C
	@echo 'a server that answers within seconds, and serves until Ctrl-C'
	$(BIN)/python -m tools.demo

demo: $(SERVER_READY) ## as serve, but stops after the answer
	@echo 'a server that answers within seconds, and ends'
	$(BIN)/python -m tools.demo --once

up: $(READY) ## server and reconciler beside an API server of the tests, with `dynamo-webhooks up`, until Ctrl-C
	$(BIN)/python -m tests.cluster.trying

test: $(READY) ## lint, types and every test that needs Python alone; about eight minutes of two cores with set-up
	@echo 'lint, types and tests: about eight minutes on two cores with set-up; needs Python, git and nothing else'
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory -j2 types unit

unit: $(READY)
	$(PYTEST) $(BESIDE) $(foreach each,cluster node release bench playground,--ignore=tests/$(each)) -m 'not ($(ELSEWHERE))'

check: $(READY) ## lint, types, contracts and the tests of a room in about a minute, of reconciler or cli three: make check ROOM=policies, or ROOM="api cel"
	@echo 'lint, types, contracts and tests of $(or $(ROOM),no room; name one: make check ROOM=policies): about a minute on two cores, of reconciler or cli three'
	$(BIN)/ruff check $(ROOM) $(ROOM:%=tests/%)
	$(BIN)/ruff format --check $(ROOM) $(ROOM:%=tests/%)
	$(BIN)/mypy
	$(PYTEST) $(BESIDE) -m 'not ($(ELSEWHERE))' $(ROOM:%=tests/%) tests/test_layout.py

cluster: $(READY) ## tests on a real API server, built once from Go modules (five minutes); then about a quarter of an hour
	@echo 'tests on a real API server: about a quarter of an hour on two cores; needs Go 1.25 or newer for the first run, which takes five more'
	$(MAKE) --no-print-directory assets SETS='$(if $(KUBERNETES),assets-$(KUBERNETES),assets) helm'
	$(PYTEST) $(BESIDE) -n 4 -m 'cluster and not (neighbours or nightly)'

neighbours: $(READY) ## tests with real LeaderWorkerSets, scheduler, cert-manager, promtool and actionlint, and of a release; about a quarter of an hour
	@echo 'tests with other programs, and of a release with its image: about a quarter of an hour on two cores'
	@echo 'needs Go 1.26 (the first run builds the programs, half an hour more), gcc, musl-gcc, buildah, skopeo, umoci, node, npm, zsh and fish'
	$(MAKE) --no-print-directory assets SETS='assets helm lws lws-0.9 kube-scheduler kwok cert-manager promtool actionlint'
	$(PYTEST) $(BESIDE) -n 4 -m 'neighbours and not nightly'

node: $(READY) ## the installation and graphs on nodes that run containers, in namespaces of their own; about eight minutes
	@echo 'four times an etcd, an API server, a scheduler, containerd, a kubelet and kube-proxy in namespaces of their own: about eight minutes on two cores'
	@echo "needs root, Debian's containerd, runc, containernetworking-plugins, conntrack and buildah, gcc, and Go 1.26 for the first run, twenty more; an image of changed code takes four"
	$(BIN)/python -m tests.node tests/node

browser: site ## the site and the playground in a headless Chromium, which must be on the PATH; about five minutes
	@echo 'tests in a headless Chromium: about five minutes on two cores; needs chromium, node and npm'
	$(PYTEST) --durations=20 -m browser

HOSTILE = HOSTILE_SEED=$(or $(HOSTILE_SEED),$(shell date +%Y%m%d%H%M)) HOSTILE_REVIEWS=$(or $(HOSTILE_REVIEWS),200000) HOSTILE_SERVED=$(or $(HOSTILE_SERVED),200000) HOSTILE_EXPRESSIONS=$(or $(HOSTILE_EXPRESSIONS),20000) HOSTILE_STREAMS=$(or $(HOSTILE_STREAMS),20000) \
	HOSTILE_TRIALS=$(or $(HOSTILE_TRIALS),200) HOSTILE_WORST_KIB="$(or $(HOSTILE_WORST_KIB),1 4 32 256 1024 7168)"
nightly: $(READY) ## every test in its largest size, other versions of Kubernetes and Python, compiled code, a storm and the measurements; hours
	@echo 'everything, in its largest sizes: several hours on two cores; needs what cluster, neighbours and browser need'
	$(MAKE) --no-print-directory assets
	LAWS_OBJECTS=10000 CLUSTER_OBJECTS=10000 POLICY_SPECS=2000 POD_GRAPHS=2000 GROVE_EDITS=100000 LINE_OBJECTS=150 $(HOSTILE) $(PYTEST) $(BESIDE) -m 'not (browser or node)' --junit-xml=build/nightly.xml
	$(BIN)/python -m tests.durations build/nightly.xml
	for version in 1.30 1.37; do KUBERNETES=$$version $(MAKE) --no-print-directory cluster || exit 1; done
	for version in 3.12 3.13 3.14; do ! python$$version -m venv --help >/dev/null 2>&1 || $(MAKE) --no-print-directory unit PYTHON=python$$version VENV=.venv-$$version || exit 1; done
	$(MAKE) --no-print-directory compiled bench
	$(BIN)/python -m tests.hostile.storm --cluster
	$(MAKE) --no-print-directory browser node

laws: $(READY) ## the laws of conversion on ten thousand generated objects a kind and direction, from the seed of the day
	LAWS_SEED=$(or $(LAWS_SEED),$(shell date +%Y%m%d)) LAWS_OBJECTS=$(or $(LAWS_OBJECTS),10000) $(PYTEST) tests/laws tests/admission/test_judging.py

hostile: $(READY) ## damaged reviews, costly expressions, and a search for the costliest body of each size, from a fresh seed that is printed; an hour
	$(HOSTILE) $(PYTEST) -s tests/hostile

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

bench: build-compiled ## speed, waiting times and memory of the server as it is shipped beside a bare one, then, interpreted, beside the last release or AGAINST=commit; about five minutes
	BENCH_TREE=$(abspath build/compiled) $(BIN)/python -m tests.bench --write
	$(BIN)/python -m tests.bench --against $(AGAINST)

compiled: build-compiled ## the tests of what mypyc compiles, or TESTS, on the compiled modules, in a copy in build/compiled
	cd build/compiled && $(abspath $(BIN))/python -m pytest $(BESIDE) -m 'not (interpreted or $(ELSEWHERE))' $(or $(TESTS),$(patsubst %,tests/%,admission api cli/explain conversion golden laws policies webhooks))

build-compiled: $(READY)
	rm -rf build/compiled && mkdir -p build/compiled && git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- -cf - | tar -xf - -C build/compiled
	git -C build/compiled init -q && git -C build/compiled add -A
	cd build/compiled && DYNAMO_WEBHOOKS_COMPILE=1 $(abspath $(BIN))/python setup.py --quiet build_ext --inplace

scale: $(READY) ## what a graph costs the reconciler with GRAPHS="100 1000" at once, and how that grows from few to many
	$(BIN)/python -m tests.cluster.scale --write $(or $(GRAPHS),100 1000)

lint: $(READY) ## ruff
	@echo 'ruff: a few seconds'
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, strict, code and tests
	@echo 'mypy: about 60 seconds the first time, then 20 seconds'
	$(BIN)/mypy

contracts: $(READY) ## which room may import which
	$(BIN)/lint-imports

format: $(READY) ## ruff's formatter and its safe fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

generate: $(READY) ## schemas and CRDs from the models, the schema of the project file, and the generated pages of docs/
	$(BIN)/python -m tools.schemas
	$(BIN)/python -m tools.project_schema
	$(BIN)/python -m tools.crd_files
	$(BIN)/python -m tools.shipped_objects
	$(BIN)/python -m tools.pages

docs: generate ## alias of generate

stale: $(READY) ## fails when a generated file is not what its generator writes
	$(BIN)/python -m tools.schemas --check
	$(BIN)/python -m tools.project_schema --check
	$(BIN)/python -m tools.crd_files --check
	$(BIN)/python -m tools.shipped_objects --check
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
	$(subst pyproject.toml,--group build,$(LOCK)) -c requirements.lock -o requirements-build.lock
	$(LOCK) --extra lsp -c requirements.lock -o requirements-lsp.lock
	$(subst pyproject.toml,--group site,$(LOCK)) --upgrade -o requirements-site.lock

new-rule: $(READY) ## make new-rule FILE=graph/names NAME=my-wrong-thing
	$(BIN)/python -m tools.new_rule $(FILE) $(NAME)

clean: ## what make made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .serve
