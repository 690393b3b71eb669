# fairspool: make demo, make test. Needs Go, git and make; lint needs mandoc too.

GO       ?= go
# Of all that is built: with the same ones, tests need not compile it again. The tag leaves out what
# the command line's library makes pages with, which each start of a program would pay for.
FLAGS     = -trimpath -tags urfave_cli_no_docs -ldflags '-s -w'
PREFIX   ?= /usr/local
DESTDIR  ?=
# Before the names of programs and pages: PROGRAM_PREFIX=fs- leaves Grid Engine's qstat alone.
PROGRAM_PREFIX ?=
COMMANDS  = classad condor2fairspool fairspool-setup glidein negotiate prio qdel qhold qrls qstat qtail replay report serve slots spool starter submit userprio
MAN       = $(wildcard man/*.[1-9])

.PHONY: all build test lint bench demo soak install clean

all: build

build:
	CGO_ENABLED=0 $(GO) build $(FLAGS) -o bin/ ./cmd/...

# Scripts run the commands of bin, of which go's cache of test results knows nothing: -count 1.
test: build
	CGO_ENABLED=0 FAIRSPOOL_COMMANDS=$(CURDIR)/bin $(GO) test $(FLAGS) -count 1 -timeout 30m ./...

# Formatting, vet, staticcheck (pinned in lint.mod) and the manual pages.
lint:
	@files=$$(gofmt -l bench cmd internal lib man soak spool); test -z "$$files" || { echo "gofmt: $$files" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool -modfile=lint.mod staticcheck ./...
	@command -v mandoc >/dev/null || { echo "lint: mandoc is not installed: apt-get install mandoc" >&2; exit 1; }
	mandoc -T lint -W warning $(MAN)

# Benchmarks of the packages, and of whole processes on large spools (bench).
bench: build
	$(GO) test -run '^$$' -bench . -benchmem ./...

demo: build
	sh demo/demo.sh

# What is random by nature or long, for as long as SOAK says (10m), drawn from SEED.
soak: build
	sh soak/soak.sh

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	for c in $(COMMANDS); do \
	  install -m 755 bin/$$c $(DESTDIR)$(PREFIX)/bin/$(PROGRAM_PREFIX)$$c || exit 1; \
	done
	for m in $(MAN); do \
	  n=$${m##*/}; d=$(DESTDIR)$(PREFIX)/share/man/man$${m##*.}; \
	  case " $(COMMANDS) " in *" $${n%.*} "*) n=$(PROGRAM_PREFIX)$$n;; esac; \
	  install -d $$d && install -m 644 $$m $$d/$$n || exit 1; \
	done
	s=$(DESTDIR)$(PREFIX)/share; all="$(addprefix $(PROGRAM_PREFIX),$(COMMANDS))"; \
	b=$$s/bash-completion/completions; z=$$s/zsh/site-functions; f=$$s/fish/vendor_completions.d; \
	install -d $$b $$z $$f && sed "s/@COMMANDS@/$$all/" completion/fairspool.zsh >$$z/_$(PROGRAM_PREFIX)fairspool || exit 1; \
	for c in $$all; do \
	  sed "s/@COMMANDS@/$$c/" completion/fairspool.bash >$$b/$$c && \
	  sed "s/@COMMAND@/$$c/" completion/fairspool.fish >$$f/$$c.fish || exit 1; \
	done

clean:
	rm -rf bin
