/* SPDX-License-Identifier: MIT */
/* Clients of a device and what they used, from fdinfo, sysfs and debugfs. */
#ifndef CNNCTL_CLIENTS_H
#define CNNCTL_CLIENTS_H

#include <sys/types.h>

#include <cnnacc_hw.h>

#include "util.h"

#define CLIENTS_MAX		256	/* files, or contexts, that are shown */
#define CLIENTS_COUNTERS	(sizeof(struct cnnacc_stats) / sizeof(uint64_t))
#define CLIENTS_PATH		160

/* What a core has done for a client or a context. */
struct usage {
	uint64_t busy_ns, cycles, jobs;
};

struct client_device {
	struct cnnrt_device_info info;
	dev_t node;
	char core[CNNRT_MAX_CORES][16];		/* names as in fdinfo: "NAME.0" */
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
	bool truncated;		/* more than CLIENTS_MAX were found */
	struct client at[CLIENTS_MAX];
};

/* A context, alive or being destroyed; core[] counts its own jobs. */
struct context {
	unsigned int hw_id;
	long pid;
	char comm[32];
	uint64_t state, submitted, failed, reset;
	struct usage core[CNNRT_MAX_CORES];
};

struct contexts {
	unsigned int count;
	bool truncated;		/* more than CLIENTS_MAX were found */
	struct context at[CLIENTS_MAX];
};

/* Describes a device of the kernel driver; on failure prints a message. Returns an exit status. */
int clients_device(struct cnnrt_device *dev, struct client_device *d);
/* Reads the cores' busy times; on failure prints a message. Returns an exit status. */
int clients_read_cores(struct client_device *d);
/* Finds all files of the device that this user may see. */
void clients_read(const struct client_device *d, struct clients *c);
/* Writes the path of one of the driver's files in debugfs. */
void clients_debugfs(const struct client_device *d, const char *name, char path[CLIENTS_PATH]);
/* Reads each core's counters, in the order of struct cnnacc_stats. Returns an exit status. */
int clients_read_counters(const struct client_device *d, uint64_t counters[][CLIENTS_COUNTERS]);
/* Reads the contexts of all users; on failure prints a message. Returns an exit status. */
int clients_read_contexts(const struct client_device *d, struct contexts *c);

void json_usage(struct json *j, const struct usage *u);

#endif
