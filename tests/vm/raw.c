// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cnnacc_hw.h"
#include "raw.h"

volatile uint32_t *regs;
uint8_t *mem;
uint64_t bus;

void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static int read_hex(const char *dir, const char *file)
{
	char path[300];
	FILE *f;
	int value = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%i", &value) != 1)
			value = -1;
		fclose(f);
	}
	return value;
}

void find_device(char dir[300])
{
	static const char pci[] = "/sys/bus/pci/devices";
	struct dirent *e;
	DIR *d = opendir(pci);

	while (d && (e = readdir(d))) {
		snprintf(dir, 300, "%s/%.200s", pci, e->d_name);
		if (read_hex(dir, "vendor") == CNNACC_PCI_VENDOR_ID &&
		    read_hex(dir, "device") == CNNACC_PCI_DEVICE_ID) {
			closedir(d);
			return;
		}
	}
	errno = ENODEV;
	die(pci);
}

int open_in(const char *dir, const char *file, int flags)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, flags);
	if (fd < 0)
		die(path);
	return fd;
}

void *map_bar(const char *dir, unsigned int bar, uint32_t size)
{
	char file[16];
	void *p;
	int fd;

	snprintf(file, sizeof(file), "resource%u", bar);
	fd = open_in(dir, file, O_RDWR);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die(file);
	close(fd);
	return p;
}

void write_command(const char *dir, uint16_t command)
{
	int fd = open_in(dir, "config", O_RDWR);

	if (pwrite(fd, &command, 2, 4) != 2)
		die("config");
	close(fd);
}

void map_device(const char *dir, int master)
{
	int fd = open_in(dir, "enable", O_WRONLY);

	if (write(fd, "1", 1) != 1)
		die("enable");
	close(fd);
	write_command(dir, master ? 6 : 2);
	regs = map_bar(dir, CNNACC_PCI_BAR_REGS, CNNACC_REGS_SIZE);
}

void alloc_memory(void)
{
	uint64_t entry;
	int fd = open_in("/proc/sys/vm", "nr_hugepages", O_WRONLY);

	if (write(fd, "1", 1) != 1)
		die("nr_hugepages");
	close(fd);
	mem = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		die("huge page");
	fd = open_in("/proc/self", "pagemap", O_RDONLY);
	if (pread(fd, &entry, 8, (uintptr_t)mem / 4096 * 8) != 8)
		die("pagemap");
	close(fd);
	bus = (entry & ((1ull << 55) - 1)) * 4096;
}
