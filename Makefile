# Riposte. `make run` and `make test` provide everything that they need themselves; `make help` lists the rest.

GO    ?= go
GPU   ?= none
ARGS  ?=
PROCS ?= 2

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BUILD   := $(GO) build -ldflags "-X main.version=$(VERSION)" -o bin/riposte ./cmd/riposte

# The C compiler finds whisper.cpp through the link that set-up makes. Its target, and not the link, is passed on: Go
# takes these flags for part of what a binary is made from, and so links anew when the library is another one.
WHISPER = $$(readlink -f build/native/whisper)
CGO     = CGO_CFLAGS="-O2 -g -I$(WHISPER)/include" CGO_LDFLAGS="-O2 -g -L$(WHISPER)/lib"

# Tests run under the race detector, but for SQLite, which is C that was translated to Go: its memory is none that the detector watches, so
# that there it finds nothing, and takes most of the time of all that keeps traces. This goes for that one package: it has no instance of a
# generic function, which the linker could take in place of a watched one elsewhere.
RACE = -race -gcflags=modernc.org/sqlite/lib=-race=false

# Arithmetic of one goroutine, of which the detector can say nothing and which takes ten times as long under it: it is tested without.
ARITHMETIC = riposte/audio/echo

# The packages that are not the same without C: they have files for one of the two only, or load libraries, which purego then does in
# another way.
IMPURE = $$(grep -rlE --include='*.go' --exclude-dir=build '^//go:build !?cgo|"github.com/ebitengine/purego"' . | xargs dirname | sort -u | grep -v /llama)

# The tests on a GPU need one. Vulkan's is by default Mesa's, in software, and is shown to llama.cpp twice, so that
# layers can be split. VK_DRIVER_FILES= GGML_VK_VISIBLE_DEVICES=0 leads to a real one.
TEST_GPU                 = $(if $(filter none,$(GPU)),vulkan,$(GPU))
VK_DRIVER_FILES         ?= $$(echo /usr/share/vulkan/icd.d/lvp_icd*.json)
GGML_VK_VISIBLE_DEVICES ?= 0,0

# Where npm keeps what it has fetched.
NPM_CACHE ?= $$(cd $${RIPOSTE_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/riposte} && pwd)/npm

.PHONY: help run build native test test-gpu test-long test-pure test-deploy test-clients clients conformance conformance-check vet fmt env clean

help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: build ## Set up, build and serve. ARGS="--listen :9000" passes settings on.
	exec bin/riposte serve $(if $(filter-out none,$(GPU)),--llm-gpu=$(GPU)) $(ARGS)

build: native ## Set up and build bin/riposte.
	$(CGO) $(BUILD)

native: ## Provide libraries and models. GPU=cuda or GPU=vulkan builds llama.cpp for a GPU.
	@$(GO) run ./native/setup -gpu=$(GPU) -models=default

test: export RIPOSTE_TEST_MODELS = required
test: export OMP_WAIT_POLICY = passive
test: ## Set up and run all checks and tests.
	@$(GO) run ./native/setup -gpu=$(GPU) -models=test
	@$(MAKE) --no-print-directory vet test-pure test-deploy
	$(CGO) $(GO) test $(RACE) -p $(PROCS) -parallel 4 -timeout 15m $$($(GO) list ./... | grep -vxF $(ARITHMETIC))
	$(CGO) $(GO) test -timeout 5m $(ARITHMETIC)

test-gpu: export RIPOSTE_TEST_MODELS = required
test-gpu: export OMP_WAIT_POLICY = passive
test-gpu: ## Set up and test the language model on a GPU: a Vulkan one in software, or with GPU=cuda a real one.
	@$(GO) run ./native/setup -gpu=$(TEST_GPU) -models=gpu
	$(CGO) RIPOSTE_TEST_GPU=$(TEST_GPU) VK_DRIVER_FILES="$(VK_DRIVER_FILES)" GGML_VK_VISIBLE_DEVICES="$(GGML_VK_VISIBLE_DEVICES)" \
		$(GO) test $(RACE) -count 1 -v -timeout 20m -run '^TestGPU' ./llm/llama

# What takes minutes is tested as often, or for as long, as it is promised here, and less by make test; time is not real in most of it.
LONG = TestPhoneBargeIn|TestPacing|TestFaults|TestPaceForLong

test-long: export RIPOSTE_TEST_MODELS = required
test-long: export RIPOSTE_TEST_LONG = 1
test-long: export OMP_WAIT_POLICY = passive
test-long: ## Set up and run the tests that make test shortens, in full.
	@$(GO) run ./native/setup -gpu=none -models=test
	$(CGO) $(GO) test -p $(PROCS) -timeout 20m -run '^($(LONG))$$' ./bench ./pipeline ./transport/phone

test-clients: export RIPOSTE_TEST_MODELS = required
test-clients: export RIPOSTE_TEST_CLIENTS = required
test-clients: export RIPOSTE_TEST_LLAMA_SERVER = required
test-clients: export OMP_WAIT_POLICY = passive
test-clients: clients conformance-check ## Set up and have other people's clients use the service: OpenAI's for Python and Node, its agents SDK, also in a browser, LiveKit's plugin, Twilio's library, and an Asterisk. Needs npm.
	$(CGO) $(GO) test $(RACE) -count 1 -timeout 10m -run '^(TestAgentsSDK|TestClients)$$' ./cmd/riposte
	$(GO) test $(RACE) -count 1 -timeout 5m -run '^TestExchange$$' ./transport/asterisk
	$(CGO) $(GO) test $(RACE) -count 1 -timeout 5m -run '^TestLlamaServer$$' ./llm/remote

# Those for Python lie in a folder of their own, which pip fills only when what is wanted changes; those for Node npm looks after.
SITE = build/clients/python/site

# An Asterisk lies there with all that it needs, and is not installed.
PBX = build/clients/asterisk

clients: $(SITE)/.made $(PBX)/.made
	@command -v npm >/dev/null || { echo "npm is missing (Debian: apt-get install --no-install-recommends npm)"; exit 1; }
	@$(GO) run ./native/setup -gpu=$(GPU) -models=test -server
	for c in agents node; do mkdir -p build/clients/$$c && cp clients/$$c/*.js* build/clients/$$c/ && \
		(cd build/clients/$$c && npm ci --cache "$(NPM_CACHE)" --ignore-scripts --no-audit --no-fund --loglevel=error) || exit 1; done

$(SITE)/.made: clients/python/requirements.txt
	@$(GO) run ./native/setup -gpu=$(GPU) -models=test
	rm -rf $(SITE)
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --require-hashes --no-deps --only-binary :all: --target $(SITE) -r clients/python/requirements.txt
	touch $@

$(PBX)/.made: clients/asterisk/unpack.sh
	clients/asterisk/unpack.sh $(PBX)
	touch $@

# What the tests of the wire have said and been told, which clients/python/conform.py holds against the types of OpenAI's own client.
EVENTS = $(CURDIR)/build/clients/events.jsonl
CONFORM = PYTHONPATH=$(SITE) PYTHONDONTWRITEBYTECODE=1 python3 clients/python/conform.py $(EVENTS) docs/conformance.md

conformance-check: $(SITE)/.made
	$(CGO) RIPOSTE_TEST_EVENTS=$(EVENTS) $(GO) test -count 1 ./transport/realtime
	$(CONFORM)

conformance: $(SITE)/.made ## Write the tables of docs/conformance.md anew, from what the tests of the wire say.
	$(CGO) RIPOSTE_TEST_EVENTS=$(EVENTS) $(GO) test -count 1 ./transport/realtime
	$(CONFORM) --write

vet: ## Check format and code.
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); \
		if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	$(CGO) $(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet ./...
	$(CGO) $(GO) tool staticcheck ./...

# All else is the same code, which the tests with C run, and which is checked and linked here: by vet, and as the command.
test-pure: ## Build without C, and test what is not the same there.
	CGO_ENABLED=0 $(GO) build -o bin/pure/riposte ./cmd/riposte
	CGO_ENABLED=0 $(GO) test -p $(PROCS) -timeout 10m $(IMPURE)
	CGO_ENABLED=0 $(GO) test -timeout 10m -run '^TestEngineEndsAnswers$$' ./llm/llama

# A module of its own: what it needs is much more than the service does. -mod=mod, since it follows the service's versions.
test-deploy: ## Let Prometheus and an OpenTelemetry collector read what the service tells, and test the files in deploy/.
	cd deploy/check && test -z "$$(gofmt -l .)" && CGO_ENABLED=0 $(GO) vet -mod=mod ./... && CGO_ENABLED=0 $(GO) test -mod=mod -timeout 5m ./...

fmt: ## Format the code.
	gofmt -w $$($(GO) list -f '{{.Dir}}' ./...)

env: ## Print what plain go commands need in their environment: eval "$$(make -s env)"
	@printf 'export CGO_CFLAGS="-O2 -g -I%s/include"\nexport CGO_LDFLAGS="-O2 -g -L%s/lib"\n' "$(WHISPER)" "$(WHISPER)"

clean: ## Remove what was built in here. The cache of libraries and models stays; docs/setup.md says where it is.
	rm -rf bin build
