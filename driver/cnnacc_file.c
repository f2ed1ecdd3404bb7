// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cred.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_file.h"

/**
 * DOC: file
 *
 * The state of an open file, and the quotas of its user.  Address spaces and contexts are counted
 * until they are freed, which for those that are destroyed is when their last job has ended.  A
 * user may have half of what the device has, in all files, so that others can work.
 */

/* Takes a reference to the user who opens a file. */
static struct cnnacc_user *cnnacc_user_get(struct cnnacc_device *cdev)
{
	struct cnnacc_user *user;

	guard(mutex)(&cdev->user_lock);
	list_for_each_entry(user, &cdev->users, link)
		if (uid_eq(user->uid, current_uid())) {
			user->files++;
			return user;
		}
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (user) {
		user->files = 1;
		user->uid = current_uid();
		list_add(&user->link, &cdev->users);
	}
	return user;
}

static void cnnacc_user_put(struct cnnacc_device *cdev, struct cnnacc_user *user)
{
	guard(mutex)(&cdev->user_lock);
	if (--user->files)
		return;
	list_del(&user->link);
	kfree(user);
}

/* Allocates the state of a file that is being opened; returns NULL if there is no memory. */
struct cnnacc_file *cnnacc_file_create(struct cnnacc_device *cdev)
{
	struct cnnacc_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	file->user = cnnacc_user_get(cdev);
	if (!file->user) {
		kfree(file);
		return NULL;
	}
	kref_init(&file->ref);
	file->cdev = cdev;
	spin_lock_init(&file->queue_lock);
	init_waitqueue_head(&file->room);
	xa_init_flags(&file->vms, XA_FLAGS_ALLOC1);
	xa_init_flags(&file->contexts, XA_FLAGS_ALLOC1);
	return file;
}

static void cnnacc_file_release(struct kref *ref)
{
	struct cnnacc_file *file = container_of(ref, struct cnnacc_file, ref);

	cnnacc_user_put(file->cdev, file->user);
	kfree(file);
}

/* Drops a reference. */
void cnnacc_file_put(struct cnnacc_file *file)
{
	kref_put(&file->ref, cnnacc_file_release);
}

/* What poll() tells: true unless a SUBMIT that did not wait for room still has none. */
bool cnnacc_file_writable(struct cnnacc_file *file)
{
	struct cnnacc_ctx *ctx;
	unsigned long id;
	bool room = true;

	/* The lock keeps the contexts from being destroyed. */
	xa_lock(&file->contexts);
	xa_for_each(&file->contexts, id, ctx)
		room = room && cnnacc_ctx_has_room(ctx);
	xa_unlock(&file->contexts);
	return room;
}

/* Kills the contexts of a file and releases its state. */
void cnnacc_file_close(struct cnnacc_file *file)
{
	struct cnnacc_ctx *ctx;
	struct cnnacc_vm *vm;
	unsigned long id;

	/* The watchdog ends the running jobs. */
	WRITE_ONCE(file->closed, true);
	xa_for_each(&file->contexts, id, ctx)
		cnnacc_ctx_kill(ctx);
	xa_for_each(&file->vms, id, vm)
		cnnacc_vm_put(vm);
	xa_destroy(&file->contexts);
	xa_destroy(&file->vms);
	cnnacc_file_put(file);
}

static int cnnacc_file_try_charge(struct cnnacc_file *file, enum cnnacc_quota quota)
{
	if (!atomic_add_unless(&file->used[quota], 1, CNNACC_FILE_QUOTA))
		return -ENOSPC;
	if (atomic_add_unless(&file->user->used[quota], 1, CNNACC_USER_QUOTA))
		return 0;
	atomic_dec(&file->used[quota]);
	return -EDQUOT;
}

/**
 * cnnacc_file_charge() - Count an object that a file is about to create
 * @file: file; the caller is not in a drm_dev_enter() section
 * @quota: kind of the object
 *
 * Return: 0, -ENOSPC if the file has too many objects, or -EDQUOT if its user has
 */
int cnnacc_file_charge(struct cnnacc_file *file, enum cnnacc_quota quota)
{
	int ret = cnnacc_file_try_charge(file, quota);

	if (!ret)
		return 0;
	/* Those without jobs are freed in short time. */
	flush_workqueue(file->cdev->free_wq);
	ret = cnnacc_file_try_charge(file, quota);
	if (ret)
		drm_dbg(&file->cdev->drm, "%s: refused: %s of the %s: %u at most\n", current->comm,
			quota == CNNACC_QUOTA_VMS ? "address spaces" : "contexts",
			ret == -EDQUOT ? "user" : "file",
			ret == -EDQUOT ? CNNACC_USER_QUOTA : CNNACC_FILE_QUOTA);
	return ret;
}

/* Discounts an object that is freed. */
void cnnacc_file_uncharge(struct cnnacc_file *file, enum cnnacc_quota quota)
{
	atomic_dec(&file->user->used[quota]);
	atomic_dec(&file->used[quota]);
}
