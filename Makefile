# fairspool: make demo, make test. Needs Go, git and make; lint needs mandoc, diction and col too.

GO       ?= go
# Of all that is built: with the same ones, tests need not compile it again. The tag leaves out what
# the command line's library makes pages with, which each start of a program would pay for.
FLAGS     = -trimpath -tags urfave_cli_no_docs -ldflags '-s -w'
PREFIX   ?= /usr/local
DESTDIR  ?=
# Before the names of programs and pages: PROGRAM_PREFIX=fs- leaves Grid Engine's qstat alone.
PROGRAM_PREFIX ?=
COMMANDS  = classad condor2fairspool fairspool-setup glidein negotiate prio qdel qhold qrls qshell qstat qtail replay report serve slots spool starter submit userprio
MAN       = $(wildcard man/*.[1-9])

.PHONY: all build test lint bench demo soak install deb tarball clean

all: build

build:
	CGO_ENABLED=0 $(GO) build $(FLAGS) -o bin/ ./cmd/...

# Scripts run the commands of bin, of which go's cache of test results knows nothing: -count 1.
test: build
	CGO_ENABLED=0 FAIRSPOOL_COMMANDS=$(CURDIR)/bin $(GO) test $(FLAGS) -count 1 -timeout 30m ./...

# Formatting, vet, staticcheck (pinned in lint.mod), the manual pages, the prose of pages and docs, and commit subjects.
lint:
	@files=$$(gofmt -l bench cmd internal lib man soak spool); test -z "$$files" || { echo "gofmt: $$files" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool -modfile=lint.mod staticcheck ./...
	@command -v mandoc >/dev/null || { echo "lint: mandoc is not installed: apt-get install mandoc" >&2; exit 1; }
	@! mandoc -T lint -W warning $(MAN) | grep -v 'WARNING: sections out of conventional order'
	sh lint/prose.sh
	sh lint/subjects.sh

# Benchmarks of the packages, and of whole processes on large spools (bench).
bench: build
	$(GO) test -run '^$$' -bench . -benchmem ./...

demo: build
	sh demo/demo.sh

# What is random by nature or long, for as long as SOAK says (10m), drawn from SEED.
soak: build
	sh soak/soak.sh

install: build
	@install -d $(DESTDIR)$(PREFIX)/bin
	@for c in $(COMMANDS); do \
	  install -m 755 bin/$$c $(DESTDIR)$(PREFIX)/bin/$(PROGRAM_PREFIX)$$c || exit 1; \
	done
	@for m in $(MAN); do \
	  n=$${m##*/}; d=$(DESTDIR)$(PREFIX)/share/man/man$${m##*.}; \
	  case " $(COMMANDS) " in *" $${n%.*} "*) n=$(PROGRAM_PREFIX)$$n;; esac; \
	  install -d $$d && install -m 644 $$m $$d/$$n || exit 1; \
	done
	@s=$(DESTDIR)$(PREFIX)/share; all="$(addprefix $(PROGRAM_PREFIX),$(COMMANDS))"; \
	b=$$s/bash-completion/completions; z=$$s/zsh/site-functions; f=$$s/fish/vendor_completions.d; \
	install -d $$b $$z $$f && sed "s/@COMMANDS@/$$all/" completion/fairspool.zsh >$$z/_$(PROGRAM_PREFIX)fairspool || exit 1; \
	for c in $$all; do \
	  sed "s/@COMMANDS@/$$c/" completion/fairspool.bash >$$b/$$c && \
	  sed "s/@COMMAND@/$$c/" completion/fairspool.fish >$$f/$$c.fish || exit 1; \
	done
	@echo "$(words $(COMMANDS)) programs are in $(DESTDIR)$(PREFIX)/bin, their pages and completion in $(DESTDIR)$(PREFIX)/share"

# A Debian package, by nfpm (pinned in lint.mod), and a tarball of the programs. Both are the same byte for byte whenever
# the same commit is built: their times are the commit's.
VERSION   = $(shell sed -n 's/^const Version = "\(.*\)"/\1/p' cmd/internal/cmdline/command.go)
REVISION ?= 1
DEB_ARCH ?= $(shell $(GO) env GOARCH)
EPOCH     = $(shell git log -1 --format=%ct)
# The names that Grid Engine's programs have as well: deb/postinst makes alternatives of them.
CLASH     = qdel qhold qrls qstat

deb:
	rm -rf dist/root
	$(MAKE) install DESTDIR=dist/root PREFIX=/usr
	cd dist/root/usr && install -d lib/fairspool share/lintian/overrides share/doc/fairspool && mv bin lib/fairspool/bin && install -d bin && \
	for c in $(COMMANDS); do \
	  n=$$c; case " $(CLASH) " in *" $$c "*) n=fs-$$c; mv share/man/man1/$$c.1 share/man/man1/$$n.1; \
	    sed -i "s/^\(complete.* \)$$c\$$/\1$$c $$n/" share/bash-completion/completions/$$c; \
	    ln -s $$c share/bash-completion/completions/$$n;; esac; \
	  ln -s ../lib/fairspool/bin/$$c bin/$$n || exit 1; \
	done && mv share/zsh/site-functions share/zsh/vendor-completions && gzip -9n share/man/*/*
	install -m 644 deb/copyright README.md docs/*.md docs/grafana.json dist/root/usr/share/doc/fairspool
	install -d dist/root/usr/share/doc/fairspool/schema && install -m 644 docs/schema/*.json dist/root/usr/share/doc/fairspool/schema
	install -m 644 deb/lintian-overrides dist/root/usr/share/lintian/overrides/fairspool
	printf 'fairspool ($(VERSION)-$(REVISION)) unstable; urgency=low\n\n  * See changelog.gz.\n\n -- fairspool developers <fairspool@localhost>  %s\n' \
	  "$$(date -u -R -d @$(EPOCH))" | gzip -9n >dist/root/usr/share/doc/fairspool/changelog.Debian.gz
	gzip -9n <CHANGELOG.md >dist/root/usr/share/doc/fairspool/changelog.gz
	find dist/root -exec touch -hd @$(EPOCH) {} +
	SOURCE_DATE_EPOCH=$(EPOCH) VERSION=$(VERSION) REVISION=$(REVISION) DEB_ARCH=$(DEB_ARCH) $(GO) tool -modfile=lint.mod nfpm package -f deb/nfpm.yaml -p deb -t dist/

tarball: build
	rm -rf dist/fairspool-$(VERSION)
	$(MAKE) install DESTDIR=dist/fairspool-$(VERSION) PREFIX=/
	cp LICENSE README.md docs/fairspool.toml dist/fairspool-$(VERSION)
	tar -C dist --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime=@$(EPOCH) -c fairspool-$(VERSION) | gzip -9n >dist/fairspool-$(VERSION)-$(DEB_ARCH).tar.gz

clean:
	rm -rf bin dist
