# Front door. CMake does the work; these are the commands people type. `make help` lists them.
BUILD ?= build
JOBS  ?= $(shell nproc)
ARGS  ?=
ARM_TESTS ?=
FUZZ_SECONDS     ?= 60
CAMPAIGN_EFFORT  ?= 20
CAMPAIGN_SECONDS ?= 600
CAMPAIGN_PROGRAMS ?= 1000000
PREFIX ?= /usr/local

CMAKE = cmake -G Ninja -S .
NINJA = nice ninja -j $(JOBS)
SANITIZED = CC=clang $(CMAKE) -DVYRE_TESTS=ON -DVYRE_WERROR=ON

.PHONY: help run build test test-arm bench bench-suite bench-cuda bench-peers fuzz asan ubsan tsan campaign install device-bundle clean format format-fix tidy abi abi-update

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build the command and show it at work, or run it with ARGS="check examples/saxpy.vyre"
	@$(if $(ARGS),$(BUILD)/vyre $(ARGS),tools/demo $(BUILD))

# Only what the command needs: a first configuration leaves the tests out, a later one keeps what it finds.
build: ## build the library, its compiler and the command
	@tools/setup build
	@test -f $(BUILD)/CMakeCache.txt || $(CMAKE) -B $(BUILD) -DVYRE_TESTS=OFF >/dev/null
	@$(CMAKE) -B $(BUILD) >/dev/null
	@$(NINJA) -C $(BUILD) vyre-command vyre-static vyre-shared vyre-plugins

test: ## every test: normal, sanitizers, warnings of two compilers; the last line is the total
	@tools/setup test
	@JOBS=$(JOBS) tools/test $(BUILD)

test-arm: ## tests of what computes, built for AArch64 and run in QEMU; ARM_TESTS="PATTERN"; SKIP without the tools (tools/setup arm)
	@JOBS=$(JOBS) tools/arm $(BUILD) $(if $(ARM_TESTS),'$(ARM_TESTS)')

bench: ## build and run the benchmarks; results in build/bench-results
	@tools/setup test
	@$(CMAKE) -B $(BUILD) -DVYRE_TESTS=ON >/dev/null
	@$(NINJA) -C $(BUILD)
	@tools/bench $(BUILD)/bench $(BUILD)/bench-results

bench-suite: ## the kernels of the examples against plain C, PoCL and lavapipe; ARGS="--quick"; results in build/suite-results
	@tools/setup test
	@$(CMAKE) -B $(BUILD) -DVYRE_TESTS=ON >/dev/null
	@$(NINJA) -C $(BUILD) bench.suite
	@mkdir -p $(BUILD)/suite-results
	@$(BUILD)/suite/suite --out $(BUILD)/suite-results $(ARGS)

bench-cuda: ## the same kernels on the first NVIDIA device against CUDA C, and what ours adds to its driver; ARGS="--anchors PROGRAM"; results in build/cuda-results
	@tools/setup test
	@$(CMAKE) -B $(BUILD) -DVYRE_TESTS=ON >/dev/null
	@$(NINJA) -C $(BUILD) bench.suite bench.suite-cuda
	@mkdir -p $(BUILD)/cuda-results
	@$(BUILD)/suite/suite --device --out $(BUILD)/cuda-results $(ARGS)

bench-peers: ## install PoCL and lavapipe for bench-suite (as root; otherwise they are named)
	@tools/setup peers

fuzz: ## run every fuzz target for FUZZ_SECONDS (60) with libFuzzer, ASan and UBSan
	@tools/setup test
	@$(SANITIZED) -B $(BUILD)/fuzz-tree -DVYRE_FUZZ=ON -DVYRE_SANITIZE=address,undefined >/dev/null
	@$(NINJA) -C $(BUILD)/fuzz-tree
	@tools/fuzz $(BUILD)/fuzz-tree/fuzz $(FUZZ_SECONDS)

asan: ## tests under AddressSanitizer
	@tools/setup test
	@$(SANITIZED) -B $(BUILD)/asan-only -DVYRE_SANITIZE=address >/dev/null
	@$(NINJA) -C $(BUILD)/asan-only
	@cd $(BUILD)/asan-only && ctest -j $(JOBS) -LE slow --output-on-failure

ubsan: ## tests under UndefinedBehaviorSanitizer
	@tools/setup test
	@$(SANITIZED) -B $(BUILD)/ubsan -DVYRE_SANITIZE=undefined >/dev/null
	@$(NINJA) -C $(BUILD)/ubsan
	@cd $(BUILD)/ubsan && ctest -j $(JOBS) -LE slow --output-on-failure

tsan: ## tests of threads under ThreadSanitizer
	@tools/setup test
	@$(SANITIZED) -B $(BUILD)/tsan -DVYRE_SANITIZE=thread >/dev/null
	@$(NINJA) -C $(BUILD)/tsan vyre-thread-tests
	@cd $(BUILD)/tsan && ctest -j $(JOBS) -L thread --output-on-failure --no-tests=ignore

campaign: ## hours, not minutes: CAMPAIGN_PROGRAMS (10^6), CAMPAIGN_EFFORT (20) times the random cases, CAMPAIGN_SECONDS (600) a fuzz target
	@tools/setup test
	@$(CMAKE) -B $(BUILD) -DVYRE_TESTS=ON >/dev/null
	@$(NINJA) -C $(BUILD)
	@cd $(BUILD) && VYRE_CAMPAIGN_COUNT=$(CAMPAIGN_PROGRAMS) VYRE_CAMPAIGN_WORKERS=$(JOBS) nice tests/campaign.campaign_slow
	@cd $(BUILD) && VYRE_CAMPAIGN_COUNT=$$(($(CAMPAIGN_PROGRAMS) / 10)) VYRE_CAMPAIGN_WORKERS=$(JOBS) VYRE_CAMPAIGN_JSON=campaign-cpu.json \
	    nice tests/backends.cpu.conform_random
	@cd $(BUILD) && VYRE_CAMPAIGN_COUNT=$$(($(CAMPAIGN_PROGRAMS) / 50)) VYRE_CAMPAIGN_JSON=campaign-opencl.json nice tests/emit.opencl.random
	@cd $(BUILD) && VYRE_EFFORT=$(CAMPAIGN_EFFORT) ctest -j $(JOBS) -E campaign --timeout 36000 --output-on-failure
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(CAMPAIGN_SECONDS)

# The library knows the folders of its plug-ins and of its compiler as absolute paths, so another PREFIX is another library: two files are compiled again.
install: build ## install under PREFIX (/usr/local); DESTDIR is honoured
	@$(CMAKE) -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) >/dev/null
	@$(NINJA) -C $(BUILD) vyre-command-installed vyre-static vyre-shared-installed vyre-plugins
	@cmake --install $(BUILD)

# Programs share most of their code: a dictionary as large as all of them sees it. Files belong to root, so that root can unpack and
# run them: plug-ins and the compiler of another user are refused (docs/building.md, "Trusted paths").
device-bundle: ## build/device-bundle, and the same as .tar.xz: command, tests, benchmarks, DIGESTS="FILE…" and run.sh, for a machine with glibc alone
	@tools/setup test
	@$(CMAKE) -B $(BUILD) -DVYRE_TESTS=ON >/dev/null
	@$(NINJA) -C $(BUILD) all bench.suite-cuda
	@tools/device-bundle $(BUILD) $(BUILD)/device-bundle $(DIGESTS)
	@tar -C $(BUILD) --sort=name --owner=0 --group=0 --mode=go-w -cf - device-bundle | nice xz --lzma2=preset=2,dict=256MiB >$(BUILD)/device-bundle.tar.xz
	@du -h $(BUILD)/device-bundle.tar.xz

# examples/saxpy.h is what the command makes.
format: ## check the layout of every C file: clang-format, and 120 columns in comments and strings too
	@tools/setup lint
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' ':!examples/saxpy.h' | xargs clang-format --dry-run -Werror
	@tools/columns

format-fix: ## lay out every C file
	@tools/setup lint
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' ':!examples/saxpy.h' | xargs clang-format -i

# One file a process: the analyser of clang 14 mistakes va_lists when it has seen another file before.
tidy: ## static analysis of every C file
	@tools/setup lint
	@tools/setup test
	@CC=clang $(CMAKE) -B $(BUILD)/tidy -DVYRE_TESTS=ON >/dev/null
	@git ls-files --cached --others --exclude-standard 'src/**.c' 'fuzz/*.c' 'bench/*.c' 'examples/*.c' | \
	    nice xargs -P $(JOBS) -n 1 clang-tidy --quiet --warnings-as-errors='*' -p $(BUILD)/tidy

abi: build ## compare the binary interface of the shared library with the stored one (docs/abi.md)
	@tools/setup abi
	@tools/abi check $(BUILD)/libvyre.so

abi-update: build ## store the interface as it is now
	@tools/setup abi
	@tools/abi update $(BUILD)/libvyre.so

clean: ## remove everything that was built
	rm -rf $(BUILD)
