/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the device into a QEMU that was built without it:
 *
 *     exec env LD_PRELOAD=.../cnnacc-qemu.so qemu-system-x86_64 -device cnnacc
 *
 * QEMU's internal interfaces change with its version.  The device is therefore
 * a second object, cnnacc-qemu-VERSION.so in the same directory, which is
 * loaded only into the version that it was built for.  In a program other than
 * QEMU this library does nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of QAPI's VersionInfo that has been stable since QEMU 1.0 */
struct version_triple {
    int64_t major, minor, micro;
};

struct version_info {
    struct version_triple *qemu;
    char *package;
};

static void die(const char *what, const char *version, const char *detail)
{
    fprintf(stderr, "cnnacc: %s QEMU %s: %s\n"
            "cnnacc: run scripts/build-qemu-device to build it for the "
            "installed QEMU\n", what, version, detail);
    exit(1);
}

static void device_path(char *path, size_t size, const char *version)
{
    Dl_info self;
    const char *dot;

    if (!dladdr((void *)device_path, &self)) {
        die("cannot find the device for", version,
            "cannot find this library's own path");
    }
    dot = strrchr(self.dli_fname, '.');
    if (!dot || strchr(dot, '/')) {
        dot = self.dli_fname + strlen(self.dli_fname);
    }
    snprintf(path, size, "%.*s-%s.so", (int)(dot - self.dli_fname),
             self.dli_fname, version);
}

static __attribute__((constructor)) void cnnacc_preload(void)
{
    struct version_info *(*query)(void *) = dlsym(RTLD_DEFAULT,
                                                  "qmp_query_version");
    struct version_info *info;
    char version[64], path[PATH_MAX];

    /* Child processes of QEMU must not load the device */
    unsetenv("LD_PRELOAD");
    if (!query) {
        return;
    }
    info = query(NULL);
    snprintf(version, sizeof(version), "%d.%d.%d", (int)info->qemu->major,
             (int)info->qemu->minor, (int)info->qemu->micro);
    device_path(path, sizeof(path), version);
    if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
        die("cannot load the device into", version, dlerror());
    }
}
