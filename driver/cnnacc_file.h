/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_FILE_H
#define CNNACC_FILE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/uidgid.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <cnnacc_hw.h>

#include "cnnacc_stats.h"

struct cnnacc_device;

/**
 * enum cnnacc_quota - what is counted per file and per user.
 * @CNNACC_QUOTA_VMS: address spaces
 * @CNNACC_QUOTA_CONTEXTS: contexts
 * @CNNACC_QUOTAS: number of quotas
 */
enum cnnacc_quota {
	CNNACC_QUOTA_VMS,
	CNNACC_QUOTA_CONTEXTS,
	CNNACC_QUOTAS,
};

/**
 * struct cnnacc_user - all files that a user has opened.
 * @link: in &cnnacc_device.users
 * @files: number of files, under &cnnacc_device.user_lock
 * @uid: the user
 * @used: number of objects, living and being freed, by quota
 */
struct cnnacc_user {
	struct list_head link;
	unsigned int files;
	kuid_t uid;
	atomic_t used[CNNACC_QUOTAS];
};

/**
 * struct cnnacc_file - per-file state.
 * @ref: held by the open file and by its address spaces
 * @cdev: device
 * @user: who opened the file
 * @vms: address spaces by id
 * @contexts: contexts by id
 * @used: number of objects, living and being freed, by quota
 * @tables: number of page table pages of the address spaces
 * @buffers: number of buffer handles
 * @queue_lock: protects @jobs, and what the contexts have queued and were refused
 * @jobs: number of jobs that are queued or run
 * @room: woken when jobs have ended
 * @failures: jobs that have failed in succession
 * @banned: they were too many
 * @closed: the file is closed; its running jobs are ended
 * @usage: usage of each core
 */
struct cnnacc_file {
	struct kref ref;
	struct cnnacc_device *cdev;
	struct cnnacc_user *user;
	struct xarray vms;
	struct xarray contexts;
	atomic_t used[CNNACC_QUOTAS];
	atomic_t tables;
	atomic_t buffers;
	spinlock_t queue_lock;		/* protects what is queued */
	u32 jobs;
	wait_queue_head_t room;
	atomic_t failures;
	bool banned;
	bool closed;
	struct cnnacc_usage usage[CNNACC_MAX_CORES];
};

struct cnnacc_file *cnnacc_file_create(struct cnnacc_device *cdev);
void cnnacc_file_close(struct cnnacc_file *file);
void cnnacc_file_put(struct cnnacc_file *file);
bool cnnacc_file_writable(struct cnnacc_file *file);
int cnnacc_file_charge(struct cnnacc_file *file, enum cnnacc_quota quota);
void cnnacc_file_uncharge(struct cnnacc_file *file, enum cnnacc_quota quota);

#endif
