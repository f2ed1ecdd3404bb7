/* SPDX-License-Identifier: MIT */
/* Who uses a device and how much, as the kernel shows it: fdinfo, sysfs, debugfs. */
#ifndef CNNCTL_CLIENTS_H
#define CNNCTL_CLIENTS_H

#include <sys/types.h>

#include <cnnacc_hw.h>

#include "util.h"

#define CLIENTS_MAX		256	/* files, or contexts, that are shown */
#define CLIENTS_COUNTERS	(sizeof(struct cnnacc_stats) / sizeof(uint64_t))
#define CLIENTS_PATH		160

/* What a core has done for somebody. */
struct usage {
	uint64_t busy_ns, cycles, jobs, macs, read_bytes, written_bytes;
};

struct client_device {
	struct cnnrt_device_info info;
	dev_t node;
	char core[CNNRT_MAX_CORES][16];		/* names as in fdinfo: "ccp.0" */
	uint64_t core_busy_ns[CNNRT_MAX_CORES];	/* of all clients */
};

/* An open file of the device. */
struct client {
	uint64_t id;		/* DRM client id */
	long pid;
	char comm[32];
	uint64_t memory_kib, resident_kib;
	struct usage core[CNNRT_MAX_CORES];
};

struct clients {
	unsigned int count;
	bool truncated;		/* there are more */
	struct client at[CLIENTS_MAX];
};

/* A context, alive or being torn down; core[].jobs and so on are its part. */
struct context {
	unsigned int hw_id;
	long pid;
	char comm[32];
	uint64_t state, submitted, failed, reset;
	struct usage core[CNNRT_MAX_CORES];
};

struct contexts {
	unsigned int count;
	bool truncated;		/* there are more */
	struct context at[CLIENTS_MAX];
};

/* Describes a device behind the kernel's driver: an exit status, after a message. */
int clients_device(struct cnnrt_device *dev, struct client_device *d);
/* Reads the cores' busy times: an exit status, after a message. */
int clients_read_cores(struct client_device *d);
/* Finds all files of the device that this user may see. */
void clients_read(const struct client_device *d, struct clients *c);
/* The path of a file of the driver's in debugfs. */
void clients_debugfs(const struct client_device *d, const char *name, char path[CLIENTS_PATH]);
/* Reads what each core has counted, in the order of struct cnnacc_stats: an exit status. */
int clients_read_counters(const struct client_device *d, uint64_t counters[][CLIENTS_COUNTERS]);
/* Reads the contexts of all users: an exit status, after a message. */
int clients_read_contexts(const struct client_device *d, struct contexts *c);

void json_usage(struct json *j, const struct usage *u);

#endif
