# SPDX-License-Identifier: MIT
#
# make          builds everything into build/
# make demo     a real CNN through the real driver in a VM (README.md)
# make check    every test; make check-GROUP for one group; JUNIT=FILE also writes JUnit XML
# make check-quick
#               what takes at most 3 minutes, for the edit loop
# make install  library, tools, headers, man pages, device for QEMU, cnnacc.ko and udev rule, below
#               PREFIX (/usr/local) and /lib/modules; DESTDIR=directory to take for /
# make install-user
#               the same without cnnacc.ko and udev rule
# make uninstall
#               removes what was installed with the same PREFIX and DESTDIR
# make fuzz     random ioctls in a VM; COUNT=sequences (1000000), SEED=first
# make fuzz-files
#               damaged ONNX (with external data) and TensorFlow Lite files under sanitizers;
#               COUNT=files (1000000)
# make fuzz-debug
#               the same in guests whose kernel has checkers, CHUNK sequences in each (100000)
# make check-debug, check-kcsan
#               the driver's tests in full in a guest whose kernel has checkers, which is
#               built first (17 minutes of CPU time)
# make check-qemu10
#               the groups vm and kmd in QEMU 10.0 of Debian 13, which is built first and cached
# make ARCH=arm64 [TARGET]
# make ARCH=riscv64 [TARGET]
#               the same for another processor, into build-ARCH/; a guest with it takes this machine's
#               place for demo
# make check-boards
#               the driver's tests and networks on the boards of other processors
# make coverage which lines of the driver the last check-debug ran
# make bench    every benchmark (Documentation/user/benchmarks.rst); BENCH="PART..." for some
#
# Debian packages that are missing are installed by the targets that need them.

ifneq ($(filter-out arm64 riscv64,$(ARCH)),)
$(error ARCH=$(ARCH): it must be arm64 or riscv64, or not be given)
endif

BUILD ?= build
PREFIX ?= /usr/local
# Where programs, library and module go.
OUT := $(BUILD)$(ARCH:%=-%)
ifeq ($(ARCH),)
KVER ?= $(shell ls -v /lib/modules 2>/dev/null | grep '^6\.12.*-amd64$$' | tail -n 1)
KDIR ?= /lib/modules/$(KVER)/build
else
# Kernel, libraries and the file for meson, unpacked to the cache (scripts/fetch-board).
BOARD = $(shell scripts/fetch-board $(ARCH))
KDIR = $(firstword $(wildcard $(BOARD)/kernel/lib/modules/*/build))
PREFIX_OF_TOOLS = $(ARCH:arm64=aarch64)-linux-gnu-
KARGS = ARCH=$(ARCH:riscv64=riscv) CROSS_COMPILE=$(PREFIX_OF_TOOLS) CC=$(PREFIX_OF_TOOLS)gcc
BOARD_PACKAGES = $(ARCH)
endif

# Those with the longest scripts first, so that the last ones end at about the same time.
GROUPS := debug kmd vm boards lint network conformance tools unit golden fuzz bench lib docs

# Python and meson of the distribution, whatever else comes first on PATH.
export PATH := /usr/sbin:/usr/bin:/sbin:/bin:$(PATH)
export CNNACC_BUILD := $(abspath $(BUILD))
export PREFIX DESTDIR

# meson and the kernels' scripts use ccache where it is installed; check installs it.  Clones in
# other directories share it, so that no path is hashed.
export CCACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cnnacc/ccache
export CCACHE_MAXSIZE ?= 2G
export CCACHE_NOHASHDIR := 1

# With -j, two of these would build in one directory, and apt run twice.  What they call uses all
# processors.
.NOTPARALLEL:

all: user module device

packages:
	scripts/install-packages build vm $(BOARD_PACKAGES)

packages-check:
	scripts/install-packages build vm check arch kernel-source docs boards

packages-bench:
	scripts/install-packages build vm bench

# What the product is made of; the tests' own programs come with check.
user: configure
	ninja -C $(OUT) product $(if $(ARCH),guest)

tests: configure
	ninja -C $(OUT) $(if $(ARCH),product guest)

configure: packages
	[ -e $(OUT)/build.ninja ] || meson setup --prefix "$(PREFIX)" \
		$(if $(ARCH),--cross-file $(BOARD)/cross) $(OUT) >$(OUT).log 2>&1 || \
		{ cat $(OUT).log; exit 1; }
	@rm -f $(OUT).log

# The module is built in a copy, so that the tree stays clean and one tree
# serves several kernels.
module: packages
	@[ -d $(KDIR) ] || { echo "There are no kernel headers in $(KDIR):" \
		"install linux-headers-$(KVER), or name others by KDIR="; exit 1; }
	mkdir -p $(OUT)/driver
	cp -ru Kbuild Kconfig driver uapi $(OUT)/driver/
	$(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) \
		-C $(KDIR) M=$(abspath $(OUT)/driver) $(KARGS) modules

device: packages
	mkdir -p $(BUILD)
	scripts/build-qemu-device $(BUILD)/cnnacc-qemu.so

demo: demo-time all
	$(if $(ARCH),CNNACC_MACHINE=virt-$(ARCH)) scripts/demo

demo-time:
	@[ -e $(OUT)/driver/cnnacc.ko ] || echo "A first run installs Debian packages and builds everything:" \
		"about 3 minutes on two processors. Later runs take 20 seconds."

check: packages-check all tests
	tests/check $(JUNIT:%=--junit %) $(GROUPS)

$(patsubst %,check-%,$(filter-out debug boards,$(GROUPS))): check-%: packages-check all tests
	tests/check $(JUNIT:%=--junit %) $*

# The edit loop: builds no more than it runs.
check-quick: user module device
	scripts/install-packages check
	ninja -C $(BUILD) tests/kmd/kmd_smoke
	tests/check --build $(JUNIT:%=--junit %) quick lint/tree.t

check-boards: packages-check all tests
	tests/check $(JUNIT:%=--junit %) boards boards/full

fuzz: packages-check all tests
	tests/vm/run --timeout 86400 -- kmd_fuzz --count $(or $(COUNT),1000000) \
		$(if $(SEED),--seed $(SEED))

# Twenty ways to damage the networks, each as often.
fuzz-files: configure
	ninja -C $(BUILD) tests/fuzz/onnx_mutate tests/fuzz/int8.tflite
	$(BUILD)/tests/fuzz/onnx_mutate $$(( $(or $(COUNT),1000000) / 20 ))
	$(BUILD)/tests/fuzz/onnx_mutate $$(( $(or $(COUNT),1000000) / 20 )) $(BUILD)/tests/fuzz/*.tflite

# Only here is a kernel built; check takes what is cached.
fuzz-debug check-debug check-kcsan: export CNNACC_DEBUG := full

fuzz-debug: export COUNT := $(or $(COUNT),1000000)
fuzz-debug: kernel-debug all tests
	tests/debug/fuzz.t

lint: check-lint

check-debug: kernel-debug all tests
	tests/check $(JUNIT:%=--junit %) debug debug/full

kernel-debug kernel-kcsan: kernel-%: packages-check
	scripts/build-debug-kernel $* >/dev/null

check-kcsan: kernel-kcsan all tests
	tests/debug/kcsan

check-qemu10: packages-check all tests
	qemu=$$(tests/vm/overlay-build trixie) && \
		CNNACC_QEMU=$$qemu tests/check $(JUNIT:%=--junit %) vm kmd

coverage:
	tests/debug/coverage

# A build directory that was configured before a peer came has to look again.
bench: packages-bench all
	[ -e $(BUILD)/tests/bench/bench-onednn -a -e $(BUILD)/tests/bench/guest/bench-jobs ] || \
		meson setup --reconfigure $(BUILD) >/dev/null
	ninja -C $(BUILD)
	tests/bench/run $(BENCH)

install: all
	scripts/install-product system $(BUILD) $(KDIR)

install-user: user device
	scripts/install-product user $(BUILD)

uninstall:
	scripts/install-product remove

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-arm64 $(BUILD)-riscv64

.PHONY: all packages packages-check packages-bench configure user tests module device demo demo-time check \
	check-quick check-boards check-kcsan check-qemu10 kernel-debug kernel-kcsan coverage lint bench fuzz fuzz-files fuzz-debug install \
	install-user uninstall clean $(GROUPS:%=check-%)
