/* SPDX-License-Identifier: MIT */
/* cnnctl calibrate: what this machine costs, as a file to compile for it. */
#include "cnnctl.h"

#include <inttypes.h>

struct request {
	const char *device, *out;
};

static const struct opt_spec options[] = {
	OPTION_DEVICE(struct request, device),
	{ .letter = 'o', .arg = "FILE", .kind = OPT_TEXT, .field = offsetof(struct request, out),
	  .text = "file to write: a device description as of cnnctl info --caps, with the costs "
		  "measured" },
};

static const struct opt_command command = {
	.name = "calibrate", .usage = { "-o FILE [--device D]" },
	.intro = "Measures what operators on this CPU, copies and programs on the device's cores take, "
		 "for cnnrun --target FILE and --device-caps FILE. CPU and device should have nothing "
		 "else to do meanwhile.",
	.options = options, .count = ARRAY_SIZE(options),
};

int cmd_calibrate(int argc, char **argv)
{
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	struct cnnrt_device *dev;
	struct cnnrt_error err;
	struct request r = { 0 };
	int ret = opt_parse(&command, argc, argv, &r, NULL);

	if (!ret && !r.out)
		ret = opt_missing(&command, "-o FILE");
	if (ret)
		return ret;
	ret = open_device(r.device, 0, &dev);
	if (ret)
		return ret;
	ret = checked(cnnrt_device_calibrate(dev, &err) ?:
		      cnnrt_device_save_caps(dev, r.out, &err) ?:
		      cnnrt_device_info(dev, &info, &err), &err);
	if (!ret)
		printf("%s: costs 0x%016" PRIx64 "\n", r.out, info.target_hash);
	cnnrt_device_close(dev);
	return ret;
}
