# kraftlog - see `make help`.
#
# One file for everything: nothing is included and no other make runs below a
# folder. Objects go to build/<variant>/ and mirror the source tree; the source
# tree itself stays clean. Files are found by wildcard, so a new file or room is
# built as soon as it exists.

VARIANT ?= release
BUILD ?= build/$(VARIANT)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
SHELL = /bin/sh
Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$1' '$2')
PKG_CONFIG ?= pkg-config
PYTHON ?= python3
export PYTHONDONTWRITEBYTECODE = 1
pkg = $(shell $(PKG_CONFIG) $1 2>/dev/null)
has = $(shell $(PKG_CONFIG) --exists $1 2>/dev/null && echo 1)

# ---- version: written in include/kraftlog/version.h and nowhere else --------

version_part = $(shell sed -n 's/^.define KL_VERSION_$1 //p' \
    include/kraftlog/version.h)
MAJOR := $(call version_part,MAJOR)
MINOR := $(call version_part,MINOR)
PATCH := $(call version_part,PATCH)
VERSION := $(MAJOR).$(MINOR).$(PATCH)

# ---- flags ------------------------------------------------------------------
# CFLAGS, CPPFLAGS and LDFLAGS belong to the user (or packager) and come last;
# what the code needs is in variables of its own. WERROR= turns warnings back
# into warnings.

WERROR ?= -Werror
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    $(WERROR)
OPTIONS_release = -O2 -g
OPTIONS_debug = -O0 -g
OPTIONS_asan = -O1 -g
OPTIONS_tsan = -O1 -g
OPTIONS_cov = -O0 -g
OPTIONS_fuzz = -O2 -g
VARIANT_debug = -DKL_DEBUG
VARIANT_asan = -DKL_DEBUG -fsanitize=address,undefined \
    -fno-sanitize-recover=all -fno-omit-frame-pointer
VARIANT_tsan = -DKL_DEBUG -fsanitize=thread -fno-omit-frame-pointer
VARIANT_cov = --coverage
# make fuzz SANITIZE= is faster and sees less.
SANITIZE ?= ,address,undefined
VARIANT_fuzz = -DKL_DEBUG -fsanitize=fuzzer-no-link$(SANITIZE) \
    -fno-sanitize-recover=all -fno-omit-frame-pointer
ifeq ($(origin OPTIONS_$(VARIANT)),undefined)
$(error VARIANT is release, debug, asan, tsan, cov or fuzz, not "$(VARIANT)")
endif
CFLAGS ?= $(OPTIONS_$(VARIANT))
SANITIZED = $(filter asan tsan fuzz,$(VARIANT))
ifeq ($(VARIANT)$(origin CC),fuzzdefault)
CC := clang
endif

# The codecs are optional: LZ4= or ZSTD= on the command line leaves one out.
LZ4 ?= $(call has,liblz4)
ZSTD ?= $(call has,libzstd)
CODECS := $(if $(LZ4),liblz4) $(if $(ZSTD),libzstd)
FEATURES := $(if $(LZ4),-DKL_HAVE_LZ4) $(if $(ZSTD),-DKL_HAVE_ZSTD)
ifneq ($(strip $(CODECS)),)
CODEC_CFLAGS := $(call pkg,--cflags $(CODECS))
CODEC_LIBS := $(call pkg,--libs $(CODECS))
endif
# xxHash is compiled in from its header; there is nothing to link.
XXHASH_CFLAGS := $(call pkg,--cflags libxxhash)
CHECK_CFLAGS := $(call pkg,--cflags check)
CHECK_LIBS := $(call pkg,--libs check)

COMPILE = $(CC) -std=c11 -D_GNU_SOURCE -fvisibility=hidden -fPIC -pthread \
    -ffunction-sections -fdata-sections $(WARNINGS) $(VARIANT_$(VARIANT)) \
    $(FEATURES)
LINK = $(CC) -pthread $(VARIANT_$(VARIANT)) -Wl,--gc-sections
LIBS = $(CODEC_LIBS)
# Nothing is thrown through this library, so what is loaded has no tables for
# unwinding; debuggers find theirs in .debug_frame.
COMPILE_lib = $(if $(filter release,$(VARIANT)),\
    -fno-asynchronous-unwind-tables -fno-unwind-tables)

# ---- what there is to build -------------------------------------------------
# ROOMS="base os" builds and tests the library of these rooms alone.

ROOMS ?= $(notdir $(patsubst %/,%,$(sort $(wildcard lib/*/))))
HEADERS := $(sort $(wildcard include/kraftlog/*.h))
LIB_SRC := $(sort $(foreach r,$(ROOMS),$(wildcard lib/$r/*.c)))
# Every file of examples/ is a program, but kraftlog_*.c are parts of kraftlog.
KRAFTLOG_SRC := $(sort $(wildcard examples/kraftlog.c examples/kraftlog_*.c))
EXAMPLE_SRC := $(filter-out $(KRAFTLOG_SRC),$(sort $(wildcard examples/*.c)))
MAN := $(sort $(wildcard man/*.[1-9]))

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$1)
LIB_OBJ := $(call obj,$(LIB_SRC))
STATIC := $(BUILD)/libkraftlog.a
SONAME := libkraftlog.so.$(MAJOR)
SHARED_FILE := libkraftlog.so.$(VERSION)
SHARED := $(BUILD)/libkraftlog.so
PROGRAM := $(if $(wildcard examples/kraftlog.c),$(BUILD)/kraftlog)
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/%,$(EXAMPLE_SRC))

# Test levels that are C programs: <level>_SRC, one runner each. A file
# test_<file>.c defines suite_<room>_<file>() where unit has folders by room,
# else suite_<level>_<file>(). Files of other names are linked in as helpers.
unit_SRC := $(sort $(foreach r,$(ROOMS),$(wildcard test/unit/$r/*.c)))
fault_SRC := $(sort $(wildcard test/fault/*.c))
api_SRC := $(sort $(wildcard test/api/*.c))
process_SRC := $(sort $(wildcard test/process/*.c))
BENCH_SRC := $(sort $(wildcard test/bench/*.c))
# klsim is main.c and all but the tests of its parts.
sim_SRC := $(sort $(wildcard test/sim/*.c))
KLSIM_SRC := $(filter-out test/sim/test_%,$(sim_SRC))
klsim_SRC := $(filter test/sim/test_% test/sim/check_% test/sim/choice.c \
    test/sim/script_text.c,$(sim_SRC))
# Each file is one program for the Python script of the same level.
PROPERTY_SRC := $(sort $(wildcard test/property/*.c))
# fuzz_<target>.c; other files are helpers of all targets.
fuzz_SRC := $(sort $(wildcard test/fuzz/*.c))
FUZZ := $(patsubst test/fuzz/fuzz_%.c,%,$(filter test/fuzz/fuzz_%,$(fuzz_SRC)))
TESTLIB_SRC := $(sort $(wildcard test/lib/*.c))
TESTLIB := $(BUILD)/test/libtest.a
LEVELS := unit $(foreach l,fault api process klsim,$(if $($l_SRC),$l))
RUNNERS := $(patsubst %,$(BUILD)/test/%,$(LEVELS))
PROPERTY := $(patsubst test/property/%.c,$(BUILD)/test/%,$(PROPERTY_SRC))

.PHONY: all
all: ## build the libraries and the programs (VARIANT=debug asan tsan cov)
all: $(STATIC) $(SHARED) $(PROGRAM) $(EXAMPLES) $(BUILD)/kraftlog.pc

# ---- compiling --------------------------------------------------------------
# The stamps hold the command lines and file lists. They are rewritten only when
# these differ, and what depends on them is made again then.

define STAMP_flags
$(COMPILE) $(COMPILE_lib) $(CODEC_CFLAGS) $(CHECK_CFLAGS) $(CPPFLAGS) $(CFLAGS)
endef
define STAMP_links
$(LINK) $(LDFLAGS) $(LIBS) $(CHECK_LIBS) $(LIB_SRC) $(KRAFTLOG_SRC)
$(unit_SRC) $(fault_SRC) $(api_SRC) $(process_SRC) $(BENCH_SRC) $(fuzz_SRC)
$(sim_SRC) $(TESTLIB_SRC)
endef
$(BUILD)/flags $(BUILD)/links: $(BUILD)/%: FORCE
	$(shell mkdir -p $(@D))$(file >$@.new,$(STAMP_$*))
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@
.PHONY: FORCE
FORCE:

# Include paths are part of the layering: programs and api tests see the public
# headers alone.
INCLUDE_lib = -Iinclude -Ilib $(CODEC_CFLAGS) $(XXHASH_CFLAGS)
INCLUDE_examples = -Iinclude
INCLUDE_test = -Iinclude -Ilib -Itest/lib $(CHECK_CFLAGS)
INCLUDE_api = -Iinclude -Itest/lib $(CHECK_CFLAGS)
includes = $(INCLUDE_$(if $(filter test/api/%,$1),api,$(firstword \
    $(subst /, ,$1))))

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(COMPILE_$(firstword $(subst /, ,$<))) \
	    $(call includes,$<) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

ALL_SRC := $(LIB_SRC) $(KRAFTLOG_SRC) $(EXAMPLE_SRC) $(unit_SRC) $(fault_SRC) \
    $(api_SRC) $(process_SRC) $(BENCH_SRC) $(PROPERTY_SRC) $(fuzz_SRC) \
    $(sim_SRC) $(TESTLIB_SRC)
-include $(patsubst %.c,$(BUILD)/obj/%.d,$(ALL_SRC))

# ---- libraries --------------------------------------------------------------

$(STATIC): $(LIB_OBJ) $(BUILD)/links
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

# The functions of the public headers: a declaration begins with KL_API at the
# start of a line and may have its name on the next one.
$(BUILD)/functions: $(HEADERS) $(BUILD)/links
	$(Q)awk '/^KL_API/ { d = $$0; \
	    while (d !~ /\(/ && (getline l) > 0) d = d " " l; \
	    sub(/\(.*/, "", d); sub(/.*[ *]/, "", d); print d }' $(HEADERS) \
	    | LC_ALL=C sort >$@

$(BUILD)/kraftlog.map: $(BUILD)/functions
	$(Q)( echo 'KRAFTLOG_$(MAJOR).$(MINOR) {'; echo '    global:'; \
	    sed 's/.*/        &;/' $<; echo '    local:'; echo '        *;'; \
	    echo '};' ) >$@

# What makes the library smaller, as far as linker and loader can do it: a
# program that needs relocations is linked with each option and run.
LINK_SMALL = -Wl,-z,noseparate-code -Wl,-z,pack-relative-relocs \
    -Wl,--hash-style=gnu
$(BUILD)/link-options: $(BUILD)/links
	@echo 'int n; int *p = &n; int main(void) { return *p; }' >$@.c; \
	for option in $(LINK_SMALL); do \
	    $(LINK) -fPIE -pie -Werror $$option -o $@.probe $@.c \
	        >$@.log 2>&1 && ! grep -q . $@.log && $@.probe && \
	        echo "$$option"; \
	done >$@.new; mv $@.new $@; rm -f $@.c $@.probe $@.log

# Undefined symbols are refused, but clang leaves a sanitizer's to the program.
$(BUILD)/$(SHARED_FILE): $(LIB_OBJ) $(BUILD)/kraftlog.map \
    $(BUILD)/link-options $(BUILD)/links
	$(call say,LD,$@)
	$(Q)$(LINK) -shared -Wl,-soname,$(SONAME) \
	    -Wl,--version-script,$(BUILD)/kraftlog.map \
	    $(if $(SANITIZED),,-Wl,-z,defs) @$(BUILD)/link-options $(LDFLAGS) \
	    -o $@ $(LIB_OBJ) $(LIBS)

$(SHARED): $(BUILD)/$(SHARED_FILE)
	$(Q)ln -sf $(SHARED_FILE) $(BUILD)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

# Made every time, because install may have been given another PREFIX.
$(BUILD)/kraftlog.pc: pkgconfig/kraftlog.pc.in FORCE
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@CODECS@|$(strip $(CODECS))|' $< >$@

# ---- programs ---------------------------------------------------------------

$(BUILD)/kraftlog: $(call obj,$(KRAFTLOG_SRC)) $(STATIC) $(BUILD)/links
	$(call say,LD,$@)
	$(Q)$(LINK) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LIBS)

$(EXAMPLES): $(BUILD)/%: $(BUILD)/obj/examples/%.o $(STATIC) $(BUILD)/links
	$(call say,LD,$@)
	$(Q)$(LINK) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LIBS)

# ---- test programs ----------------------------------------------------------

$(TESTLIB): $(call obj,$(TESTLIB_SRC)) $(BUILD)/links
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

# test/unit/base/test_map.c -> suite_base_map
# test/api/test_op.c -> suite_api_op
suites = $(addprefix suite_,$(subst /,_,$(subst /test_,/,$(basename \
    $(patsubst test/%,%,$(patsubst test/unit/%,%,$(foreach f,$($1_SRC),$(if \
    $(filter test_%,$(notdir $f)),$f))))))))

$(BUILD)/test/%_main.c: test/lib/runner.sh $(BUILD)/links
	@mkdir -p $(@D)
	$(Q)sh test/lib/runner.sh $(call suites,$*) >$@

# The archive of helpers gives only what a runner uses. The api runner takes the
# shared library: what the headers declare must be enough.
$(BUILD)/test/api: LIBRARY = $(SHARED) -Wl,-rpath,$(abspath $(BUILD))
$(BUILD)/test/%: LIBRARY = $(STATIC) $(LIBS)
$(BUILD)/test/api: $(SHARED)
$(RUNNERS): $(STATIC) $(TESTLIB) $(BUILD)/links
.SECONDEXPANSION:
$(RUNNERS): $(BUILD)/test/%: $(BUILD)/test/%_main.c $$(call obj,$$($$*_SRC))
	$(call say,LD,$@)
	$(Q)$(COMPILE) $(INCLUDE_test) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< \
	    $(call obj,$($*_SRC)) $(TESTLIB) $(LIBRARY) $(CHECK_LIBS)

$(PROPERTY): $(BUILD)/test/%: $(BUILD)/obj/test/property/%.o $(STATIC) \
    $(TESTLIB) $(BUILD)/links
	$(call say,LD,$@)
	$(Q)$(LINK) $(LDFLAGS) -o $@ $< $(TESTLIB) $(STATIC) $(LIBS)

$(BUILD)/test/bench: $(call obj,$(BENCH_SRC)) $(TESTLIB) $(STATIC) \
    $(BUILD)/links
	$(call say,LD,$@)
	$(Q)$(LINK) $(LDFLAGS) -o $@ $(call obj,$(BENCH_SRC)) $(TESTLIB) \
	    $(STATIC) $(LIBS)

# The library as it is, with ports of the simulator before those of lib/os.
KLSIM := $(if $(KLSIM_SRC),$(BUILD)/klsim)
$(BUILD)/klsim: $(call obj,$(KLSIM_SRC)) $(TESTLIB) $(STATIC) $(BUILD)/links
	$(call say,LD,$@)
	$(Q)$(LINK) $(LDFLAGS) -o $@ $(call obj,$(KLSIM_SRC)) $(TESTLIB) \
	    $(STATIC) $(LIBS)

# All targets behind the stand-alone driver, or one behind libFuzzer.
FUZZ_HELP := $(filter-out %/driver.o %/entry.o,\
    $(call obj,$(filter-out test/fuzz/fuzz_%,$(fuzz_SRC))))
FUZZ_OBJ := $(call obj,$(filter test/fuzz/fuzz_%,$(fuzz_SRC)))
FUZZERS := $(addprefix $(BUILD)/test/fuzz-,$(FUZZ))
$(BUILD)/test/fuzz.c $(addsuffix .c,$(FUZZERS)): test/fuzz/table.sh \
    $(BUILD)/links
	@mkdir -p $(@D)
	$(Q)sh test/fuzz/table.sh $(or \
	    $(patsubst $(BUILD)/test/fuzz-%.c,%,$(filter-out %/fuzz.c,$@)),\
	    $(FUZZ)) >$@

$(BUILD)/test/fuzz: $(BUILD)/test/fuzz.c $(FUZZ_OBJ) $(FUZZ_HELP) \
    $(BUILD)/obj/test/fuzz/driver.o $(TESTLIB) $(STATIC) $(BUILD)/links
$(FUZZERS): $(BUILD)/test/fuzz-%: $(BUILD)/test/fuzz-%.c $(FUZZ_HELP) \
    $(BUILD)/obj/test/fuzz/fuzz_%.o $(BUILD)/obj/test/fuzz/entry.o \
    $(TESTLIB) $(STATIC) $(BUILD)/links
$(FUZZERS): LIBFUZZER = -fsanitize=fuzzer
$(BUILD)/test/fuzz $(FUZZERS):
	$(call say,LD,$@)
	$(Q)$(COMPILE) $(INCLUDE_test) -Itest/fuzz $(CPPFLAGS) $(CFLAGS) \
	    $(LDFLAGS) $(LIBFUZZER) -o $@ $(filter %.c %.o %.a,$^) $(LIBS)

# ---- running the tests ------------------------------------------------------
# Sanitizers report at the end of the process that they watch: no fork there.
# A timeout is a bound against hanging, generous because machines are busy.

TEST_ENV = CK_DEFAULT_TIMEOUT=120 $(if $(SANITIZED),CK_FORK=no) \
    $(if $(SUITE),CK_RUN_SUITE=$(SUITE)) KL_PROGRAM=$(abspath $(PROGRAM))
PARTS = $(if $(wildcard test/lint/lint.py),lint) check-headers check-symbols \
    $(if $(MAN),check-man) $(if $(wildcard test/property/*.py),check-property) \
    $(if $(wildcard test/ffi/*.py),check-ffi) $(if $(FUZZ),check-fuzz) \
    $(patsubst %,check-%,$(filter-out unit,$(LEVELS))) \
    $(if $(KLSIM),check-script check-sim)

.PHONY: check check-run test-programs
check: ## run all tests; ends with the closing line of the unit tests
	@$(MAKE) deps-if-missing
	@$(MAKE) all test-programs
	@$(MAKE) check-run

test-programs: $(RUNNERS) $(PROPERTY) $(if $(FUZZ),$(BUILD)/test/fuzz) $(KLSIM)

# Every part runs, also after one has failed; the unit tests come last so that
# their closing line is the last line of a good run.
check-run:
	@failed=; for part in $(PARTS) check-unit; do \
	    echo "== $$part"; $(MAKE) $$part || failed="$$failed $$part"; \
	done; \
	if [ -n "$$failed" ]; then echo "check: failed:$$failed" >&2; exit 1; fi

.PHONY: $(patsubst %,check-%,$(LEVELS))
check-unit: ## unit tests alone (SUITE=base_map ROOMS="base os")
$(patsubst %,check-%,$(LEVELS)): check-%: $(BUILD)/test/% $(PROGRAM)
	@$(TEST_ENV) $<

.PHONY: check-headers check-symbols check-man check-property check-ffi check-fuzz
check-headers: ## each public header compiles alone as C11 and C++11
	@sh test/headers/check.sh "$(CC)" $(HEADERS)

check-symbols: ## the shared library exports what the headers declare
check-symbols: $(SHARED) $(BUILD)/functions
	@nm -D --defined-only $< | sed -n 's/^[0-9a-f]* [^A] \([^@]*\).*/\1/p' \
	    | LC_ALL=C sort | diff -u $(BUILD)/functions -

check-property: $(PROPERTY) $(PROGRAM) $(SHARED)
	@for script in test/property/*.py; do \
	    $(TEST_ENV) $(PYTHON) $$script $(abspath $(BUILD)) || exit 1; done

# Python is not built with a sanitizer, so it cannot load a library that is.
check-ffi: $(SHARED) $(PROGRAM)
	@if [ -n "$(SANITIZED)" ]; then echo "check-ffi: not with $(VARIANT)"; \
	else for script in test/ffi/*.py; do \
	    $(TEST_ENV) $(PYTHON) $$script $(abspath $(BUILD)) || exit 1; done; fi

check-fuzz: ## replay the corpus and mutations of it (TARGET=name)
check-fuzz: $(BUILD)/test/fuzz
	@$< test/fuzz/corpus $(if $(SANITIZED),25,100) $(TARGET)

# RUNS=n or SECONDS=n for each target; the grown corpus is in build/fuzz.
.PHONY: fuzz fuzz-merge
fuzz: ## libFuzzer with sanitizers (TARGET=name, SECONDS=n or RUNS=n)
fuzz-merge: ## put what it found into the tree, minimised (TARGET=name)
ifneq ($(VARIANT),fuzz)
fuzz fuzz-merge:
	@$(MAKE) VARIANT=fuzz BUILD=build/fuzz$(if $(SANITIZE),,-fast) $@
else
fuzz fuzz-merge: $(BUILD)/test/fuzz \
    $(addprefix $(BUILD)/test/fuzz-,$(or $(TARGET),$(FUZZ)))
	@sh test/fuzz/fuzz.sh $(BUILD) $(if $(filter fuzz,$@),run,merge) \
	    $(if $(RUNS),-runs=$(RUNS),-max_total_time=$(or $(SECONDS),60)) \
	    $(or $(TARGET),$(FUZZ))
endif

check-man: ## manual pages are well formed and mention every function
check-man: $(BUILD)/functions
	@sh test/lint/man.sh $(BUILD)/functions $(MAN)
	@$(PYTHON) test/lint/man.py

.PHONY: mutants
mutants: ## plant bugs in a copy of the tree: tests must find them (MUTANT=id)
	@$(PYTHON) test/mutants/run.py build/mutants $(MUTANT)

.PHONY: bench
bench: ## measure against the limits of this machine (BENCH=name for one row)
bench: $(BUILD)/test/bench $(PROGRAM) $(SHARED)
	@$(TEST_ENV) $< $(BENCH)

.PHONY: demo
demo: ## a real input, kill -9 in the middle, every acknowledged line proved
	@$(MAKE) deps-if-missing
	@$(MAKE) all
	@KL_PROGRAM=$(abspath $(BUILD))/kraftlog sh examples/demo.sh

# Without a seed of its own a run has one that nobody has tried.
SWEEP_IMAGES ?= 2000000
SWEEP_JOBS ?= $(shell nproc 2>/dev/null || echo 1)
SWEEP_SEED ?= $(shell date +%s)
.PHONY: sweep
sweep: ## cut power, flip all bits (SWEEP_IMAGES=n SWEEP_SEED=n SWEEP_JOBS=n)
sweep: $(BUILD)/test/fault
	@echo "sweep: SWEEP_SEED=$(SWEEP_SEED) SWEEP_JOBS=$(SWEEP_JOBS)"
	@$(TEST_ENV) CK_RUN_SUITE=fault_sweep KL_SWEEP_IMAGES=$(SWEEP_IMAGES) \
	    KL_SWEEP_SEED=$(SWEEP_SEED) KL_SWEEP_JOBS=$(SWEEP_JOBS) \
	    KL_SWEEP_ONLY="$(SWEEP_ONLY)" $<
	@$(TEST_ENV) CK_RUN_SUITE=fault_flip KL_FLIPS=$(or $(SWEEP_FLIPS),0) \
	    KL_FLIP_JOBS=$(SWEEP_JOBS) $<

.PHONY: check-script
check-script: ## clusters that do what a text says (SCRIPT=name, REWRITE=1)
check-script: $(KLSIM)
	@$< $(if $(REWRITE),--rewrite,--script) \
	    $(or $(SCRIPT:%=test/scripts/%.txt),$(sort $(wildcard \
	    test/scripts/*.txt)))

# The seeds of make check are always the same; make sim has others each time.
SIM_JOBS ?= $(shell nproc 2>/dev/null || echo 1)
SIM_FIRST ?= $(shell date +%s)000
SIM_ARGS = $(if $(HOSTS),--hosts $(HOSTS))
SIM_FEWER = $(SANITIZED)$(filter cov,$(VARIANT))
.PHONY: sim check-sim sim-bars sim-compilers
check-sim: ## the simulator's seeds of make check
check-sim: $(KLSIM)
	@$< --seeds $(if $(SIM_FEWER),100,2000) --jobs $(SIM_JOBS)
	@$< --hosts 1 --seeds $(if $(SIM_FEWER),100,500) --jobs $(SIM_JOBS)
	@$< --failover --seeds $(if $(SIM_FEWER),10,30)
	@$< --disks --seeds $(if $(SIM_FEWER),5,30)
	@$< --idle $(if $(SIM_FEWER),2,20)

sim-bars: ## simulate leaders that die, and clusters with nothing to do
sim-bars: $(KLSIM)
	@$< --failover --seeds 300
	@$< --failover --hosts 5 --seeds 100
	@$< --idle 1000

# A world that goes on differently is told by the hash of all that happened.
SIM_COMPILERS ?= gcc clang
sim-compilers: ## seeds do the same with each compiler (SIM_COMPILERS="gcc clang")
	@first=; for cc in $(SIM_COMPILERS); do \
	    b=build/sim-$$(basename $$cc); first=$${first:-$$b}; \
	    $(MAKE) CC=$$cc BUILD=$$b $$b/klsim && \
	    { $$b/klsim --seeds 100 --jobs $(SIM_JOBS) && \
	      $$b/klsim --hosts 1 --seeds 100 --jobs $(SIM_JOBS) && \
	      $$b/klsim --failover --seeds 3 && $$b/klsim --idle 1; \
	    } >$$b/klsim.log && \
	    sed -n 's/.*, hash //p' $$b/klsim.log >$$b/hashes && \
	    [ $$(wc -l <$$b/hashes) = 4 ] || { cat $$b/klsim.log; exit 1; }; \
	    echo "sim-compilers: $$cc:" $$(cat $$b/hashes); \
	    cmp $$first/hashes $$b/hashes || exit 1; \
	done

sim: ## simulate clusters (SEED=n [SHRINK=file] or SEEDS=n, HOSTS=n)
sim: $(KLSIM)
	@$< $(SIM_ARGS) $(if $(SEED),--seed $(SEED) $(if $(SHRINK),--shrink \
	    $(SHRINK),--trace),--seeds $(or $(SEEDS),2000) --jobs $(SIM_JOBS) \
	    --first $(SIM_FIRST))

# Counts are those of every suite of make check; what it has more of is smaller
# here, because nothing new is reached by more of the same.
COVERED = $(filter lib/batch/% lib/store/%,$(LIB_SRC))
COVER_LINES = 95
COVER_BRANCHES = 85
.PHONY: coverage coverage-table
coverage: ## lines and branches of batch and store (COVERAGE=name shows a file's)
ifneq ($(VARIANT),cov)
coverage coverage-table:
	@$(MAKE) VARIANT=cov BUILD=build/cov $@
else
coverage: export KL_SWEEP_IMAGES ?= 2000
coverage: export KL_FLIPS ?= 500
coverage: all test-programs
	@find $(BUILD) -name '*.gcda' -delete
	@for part in $(filter check-%,$(PARTS)) check-unit; do \
	    case $$part in *-headers | *-symbols | *-man | *-ffi) continue; esac; \
	    echo "== $$part"; $(MAKE) $$part >$(BUILD)/$$part.log 2>&1 || \
	    { tail -40 $(BUILD)/$$part.log; exit 1; }; done
	@$(MAKE) coverage-table

coverage-table: ## the same of what has run already
	@COVERAGE=$(COVERAGE) $(PYTHON) test/coverage/table.py $(BUILD) \
	    $(COVER_LINES) $(COVER_BRANCHES) $(COVERED)
endif

# ---- lint -------------------------------------------------------------------

.PHONY: lint format
lint: ## layers, lengths, banned calls, symbols, format (ONLY=lib/base)
lint: $(STATIC)
	@$(PYTHON) test/lint/selftest.py
	@$(PYTHON) test/lint/lint.py $(if $(filter release,$(VARIANT)),\
	    --objects $(BUILD)/obj) $(ONLY)

format: ## rewrite all sources with clang-format
	clang-format -i $(HEADERS) $(wildcard lib/*/*.[ch] examples/*.[ch] \
	    test/*/*.[ch] test/*/*/*.[ch])

# ---- installing -------------------------------------------------------------

man_dest = $(MANDIR)/man$(patsubst .%,%,$(suffix $1))/$(notdir $1)

.PHONY: install uninstall
install: ## install below DESTDIR and PREFIX
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig \
	    $(DESTDIR)$(INCLUDEDIR)/kraftlog
	$(if $(PROGRAM),install -m 755 $(PROGRAM) $(DESTDIR)$(BINDIR)/kraftlog)
	install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)
	install -m 755 $(BUILD)/$(SHARED_FILE) $(DESTDIR)$(LIBDIR)
	ln -sf $(SHARED_FILE) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libkraftlog.so
	install -m 644 $(BUILD)/kraftlog.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/kraftlog
	$(foreach m,$(MAN),install -D -m 644 $m $(DESTDIR)$(call man_dest,$m);)

uninstall: ## remove what install has put there
	rm -f $(DESTDIR)$(BINDIR)/kraftlog \
	    $(addprefix $(DESTDIR)$(LIBDIR)/,libkraftlog.a $(SHARED_FILE) \
	    $(SONAME) libkraftlog.so pkgconfig/kraftlog.pc) \
	    $(addprefix $(DESTDIR)$(INCLUDEDIR)/kraftlog/,$(notdir $(HEADERS))) \
	    $(foreach m,$(MAN),$(DESTDIR)$(call man_dest,$m))
	rmdir $(DESTDIR)$(INCLUDEDIR)/kraftlog 2>/dev/null || :

# ---- what the machine needs -------------------------------------------------
# tool:package for programs, lib:package for what pkg-config knows.

NEEDS = gcc:gcc pkg-config:pkg-config lib=libxxhash:libxxhash-dev \
    lib=liblz4:liblz4-dev lib=libzstd:libzstd-dev lib=check:check \
    lib=libsubunit:libsubunit-dev mandoc:mandoc clang:clang \
    clang-format:clang-format ctags:universal-ctags python3:python3

.PHONY: deps deps-if-missing missing
missing: ## name the Debian packages that are not installed yet
	@for need in $(NEEDS); do \
	    what=$${need%%:*} package=$${need##*:}; \
	    case $$what in \
	    lib=*) pkg-config --exists $${what#lib=} 2>/dev/null ;; \
	    *) command -v $$what >/dev/null 2>&1 ;; \
	    esac || echo $$package; \
	done | sort -u

deps: ## install what is missing (Debian; says what it installs)
	@packages=$$($(MAKE) missing | tr '\n' ' '); \
	if [ -z "$$packages" ]; then echo "deps: nothing is missing"; exit 0; fi; \
	echo "deps: missing: $$packages"; \
	if ! command -v apt-get >/dev/null 2>&1; then \
	    echo "deps: no apt-get here: install these by hand" >&2; exit 1; fi; \
	sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
	echo "deps: installing with $${sudo:+sudo }apt-get: $$packages"; \
	$$sudo apt-get update -qq && \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    --no-install-recommends $$packages </dev/null

deps-if-missing:
	@if [ -n "$$($(MAKE) missing)" ]; then $(MAKE) deps; fi

# ---- the rest ---------------------------------------------------------------

.PHONY: dist clean help
dist: ## build/kraftlog-X.Y.Z.tar.gz of the last commit
	@mkdir -p build
	git archive --format=tar.gz --prefix=kraftlog-$(VERSION)/ \
	    -o build/kraftlog-$(VERSION).tar.gz HEAD

clean: ## remove build/
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | sort \
	    | awk -F'|' '{ printf "  %-15s %s\n", $$1, $$2 }'
