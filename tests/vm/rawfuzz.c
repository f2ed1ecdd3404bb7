// SPDX-License-Identifier: MIT
/*
 * rawfuzz SEED COUNT: writes random values to the device's registers, rings and
 * MSI-X table, with function resets in between.  Addresses point to one huge
 * page, to the device itself or to no memory, so that the guest survives.  The
 * emulator must survive everything.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cnnacc_hw.h"
#include "raw.h"

#define MSIX_CONTROL	0x42	/* in configuration space */
#define MSIX_SIZE	0x1000
#define OP_SHIFT	28	/* operations of the default core; noise to others */

static uint64_t state;
static uint64_t bar0, bar4;

static uint32_t rnd(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 33;
}

static uint64_t some_address(void)
{
	const uint64_t places[] = {
		bus, bus + (rnd() % 512) * 4096, bus + rnd() % HUGE, bar0, bar0 + rnd() % 0x10000,
		bar4 + rnd() % MSIX_SIZE, 0xffff0000, 1ull << 39, (1ull << 40) - 4096, 1ull << 62,
	};

	return places[rnd() % (sizeof(places) / sizeof(*places))];
}

static uint32_t some_value(void)
{
	const uint32_t values[] = {
		0, 1, 2, 3, 7, 8, 4096, 0xffffffff, 0x80000000, rnd(), rnd() % 8,
		(uint32_t)some_address(), 1u << rnd() % 32,
	};

	return values[rnd() % (sizeof(values) / sizeof(*values))];
}

static void some_packet(struct cnnacc_packet *p)
{
	*p = (struct cnnacc_packet){
		.flags = rnd() % 8,
		.ctx_id = rnd() % 3,
		.root = bus + (rnd() % 4) * 4096,
		.fence = rnd(),
		.cycle_limit = 1 + rnd() % 10000000,
		.program_va = (rnd() % 512) * 64,
		.program_len = 4 * (1 + rnd() % 64),
		.stats_va = (rnd() % 512) * 64,
	};
	if (rnd() % 8 == 0)
		((uint32_t *)p)[rnd() % 16] = some_value();
}

/* Fills the page with tables, instructions and packets, mostly well formed. */
static void fill_memory(void)
{
	uint32_t *words = (uint32_t *)mem;
	struct cnnacc_packet *packets = (struct cnnacc_packet *)(mem + 0x8000);

	for (uint32_t i = 0; i < HUGE / 4; i++)
		words[i] = i < 4096 ? CNNACC_PTE_ADDR(bus + (rnd() % 512) * 4096) | rnd() % 16 :
				      (rnd() % 10) << OP_SHIFT | (rnd() & 0x0fff00ff);
	/* Directory entries have no permission bits. */
	for (uint32_t i = 0; i < 4096; i += 1 + rnd() % 2)
		words[i] = CNNACC_PTE_ADDR(bus + (rnd() % 4) * 4096) | CNNACC_PTE_VALID;
	for (uint32_t i = 0; i < 4096; i++)
		some_packet(&packets[i]);
}

static volatile uint32_t *some_queue(void)
{
	return regs + regs[CNNACC_CORE_TABLE_OFFSET / 4 + 4] / 4 +
	       rnd() % 2 * CNNACC_QREG_BLOCK_SIZE / 4;
}

static void start_queue(volatile uint32_t *q)
{
	uint64_t ring = bus + 0x8000 + rnd() % 32 * 4096, compl = bus + rnd() % 512 * 4096;

	q[CNNACC_QREG_RESET / 4] = rnd() % 2;
	q[CNNACC_QREG_RING_BASE_LO / 4] = (uint32_t)ring;
	q[CNNACC_QREG_RING_BASE_HI / 4] = ring >> 32;
	q[CNNACC_QREG_RING_SIZE / 4] = 64;
	q[CNNACC_QREG_COMPL_BASE_LO / 4] = (uint32_t)compl;
	q[CNNACC_QREG_COMPL_BASE_HI / 4] = compl >> 32;
	q[CNNACC_QREG_COMPL_SIZE / 4] = 64;
	q[CNNACC_QREG_CTRL / 4] = CNNACC_QCTRL_ENABLE;
	q[CNNACC_QREG_RING_TAIL / 4] = rnd() % 64;
}

static void set_config(const char *dir, uint16_t msix, uint16_t command)
{
	int fd = open_in(dir, "config", O_RDWR);

	if (pwrite(fd, &msix, 2, MSIX_CONTROL) != 2 || pwrite(fd, &command, 2, 4) != 2)
		die("config");
	close(fd);
}

static void reset_function(const char *dir)
{
	int fd = open_in(dir, "reset", O_WRONLY);

	if (write(fd, "1", 1) != 1)
		die("reset");
	close(fd);
	set_config(dir, 0x8000, 6);
}

static void poke(volatile uint8_t *regs8)
{
	switch (rnd() % 4) {
	case 0:
		regs8[rnd() % CNNACC_REGS_SIZE] = some_value();
		break;
	case 1:
		*(volatile uint64_t *)(regs8 + rnd() % (CNNACC_REGS_SIZE - 8)) = rnd();
		break;
	default:
		*(volatile uint16_t *)(regs8 + rnd() % (CNNACC_REGS_SIZE - 2)) = rnd();
	}
}

static void random_step(const char *dir, volatile uint32_t *msix)
{
	uint64_t address;

	switch (rnd() % 16) {
	case 0 ... 4:
		some_queue()[rnd() % (CNNACC_QREG_BLOCK_SIZE / 4)] = some_value();
		break;
	case 5 ... 6:
		start_queue(some_queue());
		break;
	case 7 ... 8:
		regs[rnd() % 0x20] = some_value();
		break;
	case 9:
		regs[rnd() % (CNNACC_REGS_SIZE / 4)] = some_value();
		break;
	case 10:
		poke((volatile uint8_t *)regs);
		break;
	case 11 ... 12:
		address = some_address();
		msix[rnd() % 4 * 4] = (uint32_t)address;
		msix[rnd() % 4 * 4 + 1] = address >> 32;
		msix[rnd() % 4 * 4 + 2] = some_value();
		msix[rnd() % 4 * 4 + 3] = rnd() % 2;
		break;
	case 13:
		some_packet((struct cnnacc_packet *)(mem + 0x8000 + rnd() % 4096 * 64));
		break;
	case 14:
		if (rnd() % 512 == 0)
			reset_function(dir);
		else if (rnd() % 32 == 0)
			set_config(dir, rnd() % 2 ? 0x8000 : 0xc000, rnd() % 4 ? 6 : 2);
		break;
	default:
		(void)regs[rnd() % (CNNACC_REGS_SIZE / 4)];
	}
}

static uint64_t bar_address(const char *dir, unsigned int bar)
{
	int fd = open_in(dir, "config", O_RDONLY);
	uint32_t low, high = 0;

	if (pread(fd, &low, 4, 0x10 + 4 * bar) != 4 ||
	    ((low & 4) && pread(fd, &high, 4, 0x14 + 4 * bar) != 4))
		die("config");
	close(fd);
	return (uint64_t)high << 32 | (low & ~15u);
}

int main(int argc, char **argv)
{
	uint32_t count = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	volatile uint32_t *msix;
	char dir[300];

	if (!count) {
		fprintf(stderr, "usage: rawfuzz SEED COUNT\n");
		return 2;
	}
	state = strtoul(argv[1], NULL, 0);
	find_device(dir);
	map_device(dir, 1);
	msix = map_bar(dir, CNNACC_PCI_BAR_MSIX, MSIX_SIZE);
	bar0 = bar_address(dir, CNNACC_PCI_BAR_REGS);
	bar4 = bar_address(dir, CNNACC_PCI_BAR_MSIX);
	alloc_memory();
	set_config(dir, 0x8000, 6);
	for (uint32_t i = 0; i < count; i++) {
		if (i % 20000 == 0)
			fill_memory();
		random_step(dir, msix);
	}
	reset_function(dir);
	printf("magic %#x\n", regs[0]);
	return regs[0] != CNNACC_MAGIC;
}
