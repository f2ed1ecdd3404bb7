/* SPDX-License-Identifier: MIT */
#include "base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *cnnrt_version(void)
{
	return CNNRT_VERSION;
}

const char *cnnrt_strerror(int code)
{
	static const char *const texts[] = {
		[-CNNRT_OK] = "success", [-CNNRT_EINVAL] = "invalid argument or file",
		[-CNNRT_EUNSUPPORTED] = "not supported", [-CNNRT_ELIMIT] = "limit exceeded",
		[-CNNRT_ENOMEM] = "out of memory", [-CNNRT_EFILE] = "file cannot be read",
		[-CNNRT_ENODEV] = "no such accelerator",
		[-CNNRT_ENODRIVER] = "accelerator without a driver",
		[-CNNRT_EACCES] = "permission denied", [-CNNRT_EGONE] = "device went away",
		[-CNNRT_ETIMEDOUT] = "timed out", [-CNNRT_EJOB] = "job failed",
		[-CNNRT_ECANCELED] = "job canceled", [-CNNRT_EBUSY] = "job still running",
		[-CNNRT_ESYSTEM] = "system call failed",
	};
	size_t at = -(size_t)code;

	return at < RT_ARRAY_SIZE(texts) ? texts[at] : "unknown error";
}

int rt_fail(struct cnnrt_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int rt_code_of_errno(int e)
{
	switch (e) {
	case EINVAL:
	case EEXIST:
	case ENOENT:
	case E2BIG:
		return CNNRT_EINVAL;
	case ENOMEM:
		return CNNRT_ENOMEM;
	case ENOSPC:
	case EDQUOT:
	case EMFILE:
	case ENFILE:
		return CNNRT_ELIMIT;
	case EACCES:
	case EPERM:
		return CNNRT_EACCES;
	case ENODEV:
		return CNNRT_EGONE;
	case EBUSY:
		return CNNRT_EBUSY;
	case ETIMEDOUT:
	case ETIME:
		return CNNRT_ETIMEDOUT;
	case ECANCELED:
		return CNNRT_ECANCELED;
	}
	return CNNRT_ESYSTEM;
}

int rt_fail_errno(struct cnnrt_error *err, int neg_errno, const char *fmt, ...)
{
	int e = neg_errno < 0 ? -neg_errno : neg_errno;
	char what[CNNRT_ERROR_TEXT], why[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return rt_fail(err, rt_code_of_errno(e), "%.200s: %s", what,
		       strerror_r(e, why, sizeof(why)));
}

uint64_t rt_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
