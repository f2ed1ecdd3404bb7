/* SPDX-License-Identifier: MIT */
/*
 * Finds the machine's accelerators, and why one cannot be used. The search is by bus, not by node,
 * to tell a missing driver from a missing device. udevd need not run: all data is from sysfs, and
 * devices that udevd has not initialized are included.
 */
#include "device.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libkmod.h>
#include <libudev.h>

#define MODULE	"cnnacc"

struct walk {
	struct udev *udev;
	int (*found)(const struct cnnrt_found *f, void *opaque);
	void *opaque;
	int count;
	int stop;
	int failed;		/* negative errno: sysfs could not be read */
};

static const char *no_driver_remedy(bool bound)
{
	if (bound)
		return "another driver is bound to it: unbind that, then modprobe " MODULE;
	if (access("/sys/module/" MODULE, F_OK))
		return "the module is not loaded: run modprobe " MODULE " as root";
	return "the module is loaded but did not bind to it (see the kernel log, dmesg), or it was "
	       "unbound";
}

static void access_remedy(const char *node, char *buf, size_t len)
{
	struct group grp, *found = NULL;
	char names[1024];
	struct stat st;

	if (!stat(node, &st) && st.st_mode & S_IRGRP && st.st_gid)
		getgrgid_r(st.st_gid, &grp, names, sizeof(names), &found);
	if (found)
		snprintf(buf, len, "this user may not open it: add the user to group %s",
			 found->gr_name);
	else
		snprintf(buf, len, "this user may not open it: run as root or change the "
			 "mode of the node (udev rule)");
}

static void report_node(struct walk *w, const char *node, const char *bus)
{
	char remedy[160] = "";
	struct cnnrt_found f = {
		.struct_size = sizeof(f), .path = node, .bus = bus, .remedy = remedy,
	};

	if (access(node, R_OK | W_OK)) {
		f.state = errno == ENOENT ? CNNRT_ENODRIVER : CNNRT_EACCES;
		if (errno == ENOENT)
			snprintf(remedy, sizeof(remedy),
				 "its node is missing: mount a devtmpfs at /dev");
		else
			access_remedy(node, remedy, sizeof(remedy));
	}
	w->count++;
	w->stop = w->found(&f, w->opaque);
}

/* The path of the device's node in a subsystem, malloc'ed; NULL if there is none. */
static char *find_node(struct udev *udev, struct udev_device *hw, const char *subsystem,
		       const char *prefix)
{
	struct udev_enumerate *e = udev_enumerate_new(udev);
	struct udev_list_entry *entry;
	char *node = NULL;

	if (!e)
		return NULL;
	udev_enumerate_add_match_subsystem(e, subsystem);
	udev_enumerate_add_match_parent(e, hw);
	udev_enumerate_scan_devices(e);
	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(e)) {
		struct udev_device *d =
			udev_device_new_from_syspath(udev, udev_list_entry_get_name(entry));
		const char *path = d ? udev_device_get_devnode(d) : NULL;
		const char *name = d ? udev_device_get_sysname(d) : NULL;

		if (!node && path && name && !strncmp(name, prefix, strlen(prefix)))
			node = strdup(path);
		udev_device_unref(d);
	}
	udev_enumerate_unref(e);
	return node;
}

static void report_hardware(struct walk *w, struct udev_device *hw)
{
	const char *driver = udev_device_get_driver(hw);
	const char *bus = udev_device_get_sysname(hw);
	bool bound = driver && !strcmp(driver, MODULE);
	struct cnnrt_found f = {
		.struct_size = sizeof(f), .path = "", .bus = bus, .state = CNNRT_ENODRIVER,
	};
	char *node = NULL;

	if (bound)
		node = find_node(w->udev, hw, "accel", "accel");
	if (bound && !node)
		node = find_node(w->udev, hw, "drm", "renderD");
	if (node) {
		report_node(w, node, bus);
		free(node);
		return;
	}
	f.remedy = no_driver_remedy(driver && !bound);
	w->count++;
	w->stop = w->found(&f, w->opaque);
}

static void report_matches(struct walk *w, struct udev_enumerate *e)
{
	struct udev_list_entry *entry;

	int ret = udev_enumerate_scan_devices(e);

	if (ret < 0)
		w->failed = ret;
	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(e)) {
		struct udev_device *hw =
			udev_device_new_from_syspath(w->udev, udev_list_entry_get_name(entry));

		/* A device removed since the scan is skipped. */
		if (!hw && errno != ENOENT && errno != ENODEV)
			w->failed = -errno;
		if (hw && !w->stop)
			report_hardware(w, hw);
		udev_device_unref(hw);
	}
	udev_enumerate_unref(e);
}

static void walk_pci(struct walk *w)
{
	struct udev_enumerate *e = udev_enumerate_new(w->udev);
	char id[16];

	if (!e)
		return;
	udev_enumerate_add_match_subsystem(e, "pci");
	snprintf(id, sizeof(id), "0x%04x", CNNACC_PCI_VENDOR_ID);
	udev_enumerate_add_match_sysattr(e, "vendor", id);
	snprintf(id, sizeof(id), "0x%04x", CNNACC_PCI_DEVICE_ID);
	udev_enumerate_add_match_sysattr(e, "device", id);
	report_matches(w, e);
}

static void walk_platform(struct walk *w)
{
	struct udev_enumerate *e = udev_enumerate_new(w->udev);

	if (!e)
		return;
	udev_enumerate_add_match_subsystem(e, "platform");
	udev_enumerate_add_match_property(e, "OF_COMPATIBLE_0", CNNACC_DT_COMPATIBLE);
	report_matches(w, e);
}

int cnnrt_device_enumerate(int (*found)(const struct cnnrt_found *f, void *opaque),
			   void *opaque, struct cnnrt_error *err)
{
	struct walk w = { .udev = udev_new(), .found = found, .opaque = opaque };

	if (!w.udev)
		return rt_fail(err, CNNRT_ENOMEM, "udev: out of memory");
	walk_pci(&w);
	if (!w.stop)
		walk_platform(&w);
	udev_unref(w.udev);
	if (w.failed && !w.stop)
		return rt_fail_errno(err, w.failed, "looking for accelerators");
	return w.count;
}

static int first_usable(const struct cnnrt_found *f, void *opaque)
{
	*(int *)opaque = f->state;
	return f->state == CNNRT_OK;
}

/* Probing may continue after the module is loaded. */
static int wait_for_node(struct cnnrt_error *err)
{
	int state = CNNRT_ENODEV;

	for (int i = 0; i < 50; i++) {
		if (cnnrt_device_enumerate(first_usable, &state, err) > 0 &&
		    state != CNNRT_ENODRIVER)
			return CNNRT_OK;
		usleep(100 * 1000);
	}
	return rt_fail(err, CNNRT_ENODRIVER, "module " MODULE " was loaded, but no accelerator "
		       "appeared within 5 seconds: see the kernel log (dmesg)");
}

int rt_load_module(struct cnnrt_error *err)
{
	struct kmod_ctx *ctx = kmod_new(NULL, NULL);
	struct kmod_module *mod = NULL;
	int ret;

	if (!ctx)
		return rt_fail(err, CNNRT_ENOMEM, "libkmod: out of memory");
	ret = kmod_module_new_from_name(ctx, MODULE, &mod) ?:
	      kmod_module_probe_insert_module(mod, KMOD_PROBE_APPLY_BLACKLIST, NULL, NULL, NULL,
					      NULL);
	kmod_module_unref(mod);
	kmod_unref(ctx);
	if (ret == -ENOENT)
		return rt_fail(err, CNNRT_ENODRIVER, "module " MODULE " is not installed for this "
			       "kernel: install it (make modules_install, depmod)");
	if (ret > 0)
		return rt_fail(err, CNNRT_ENODRIVER, "module " MODULE " is blacklisted "
			       "(modprobe.d)");
	if (ret)
		return rt_fail_errno(err, ret, "loading module " MODULE);
	return wait_for_node(err);
}
