/* SPDX-License-Identifier: MIT */
/* cnnctl info, regs, reset, selftest. */
#include "cnnctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/desc.h"
#include "clients.h"

int run_on_device(const struct opt_command *command, int argc, char **argv,
		  int (*run)(struct cnnrt_device *dev, const struct common *c))
{
	struct cnnrt_device *dev;
	struct common c = { 0 };
	int ret = opt_parse(command, argc, argv, &c, NULL) ?: open_device(c.device, 0, &dev);

	if (ret)
		return ret;
	ret = run(dev, &c);
	cnnrt_device_close(dev);
	return ret;
}

int complain_registers(const struct cnnrt_error *err)
{
	return err->code == CNNRT_EACCES ? complain(EXIT_FAILED, "%s", err->text) :
					   complain_error(err);
}

static void show_info(const struct cnnrt_device_info *info)
{
	printf("%s: cnnacc %u.%u, driver %s%s%s, %u core%s at %u MHz%s\n", info->path,
	       info->hw_version >> 16, info->hw_version & 0xffff, info->driver,
	       *info->bus ? ", bus " : "", info->bus, info->core_count,
	       info->core_count == 1 ? "" : "s", info->clock_hz / 1000000,
	       info->features & CNNACC_FEATURE_COHERENT ? ", coherent" : "");
	printf("  resets %" PRIu64 ", largest buffer %" PRIu64 " MiB, costs 0x%016" PRIx64 "\n",
	       info->reset_count, info->max_buffer >> 20, info->target_hash);
}

/* "data-bank 1024 KiB, lob 256"; an unknown core gets its parameter words as numbers. */
static void show_params(const struct cnnrt_core_info *c)
{
	const struct cnn_core_desc *desc = cnn_core_desc(c->name);

	for (size_t i = 0; desc && i < desc->n_params; i++) {
		const struct cnnacc_param_info *p = &desc->params[i];
		uint32_t value = cnn_desc_param(p, c->param, c->program_max);
		char text[CNN_DESC_VALUE];
		bool kib = p->flags & CNNACC_PARAM_F_BYTES && value % 1024 == 0;

		cnn_desc_value(p, kib ? value >> 10 : value, text);
		printf("%s%s %s%s", i ? ", " : "    ", p->name, text,
		       kib ? " KiB" : p->flags & CNNACC_PARAM_F_BYTES ? " bytes" : "");
	}
	for (size_t i = 0; !desc && i < ARRAY_SIZE(c->param); i++)
		printf("%s0x%x", i ? " " : "    unknown core, parameters ", c->param[i]);
	printf("\n");
}

static void show_core(unsigned int i, const struct cnnrt_core_info *c)
{
	printf("  core %s.%u: version %u.%u, programs up to %u bytes and %" PRIu64 " cycles\n",
	       c->name, i, c->version >> 16, c->version & 0xffff, c->program_max,
	       c->job_cycles_max);
	show_params(c);
}

static void json_params(struct json *j, const struct cnnrt_core_info *c)
{
	const struct cnn_core_desc *desc = cnn_core_desc(c->name);

	json_open(j, "param", '[');
	for (size_t i = 0; i < ARRAY_SIZE(c->param); i++)
		json_u64(j, NULL, c->param[i]);
	json_close(j, ']');
	json_open(j, "parameters", '{');
	for (size_t i = 0; desc && i < desc->n_params; i++)
		json_u64(j, desc->params[i].name,
			 cnn_desc_param(&desc->params[i], c->param, c->program_max));
	json_close(j, '}');
}

static void json_core(struct json *j, const struct cnnrt_core_info *c)
{
	json_open(j, NULL, '{');
	JSON_MEMBERS(j, TEXT("name", c->name), U64("type", c->type), U64("version", c->version),
		     U64("program_max", c->program_max), U64("job_cycles_max", c->job_cycles_max));
	json_params(j, c);
	json_close(j, '}');
}

static void json_info(struct json *j, const struct cnnrt_device_info *info)
{
	JSON_MEMBERS(j, TEXT("path", info->path), TEXT("driver", info->driver),
		     TEXT("bus", info->bus), HEX("hw_version", info->hw_version),
		     HEX("features", info->features), U64("clock_hz", info->clock_hz),
		     U64("reset_count", info->reset_count), U64("max_buffer", info->max_buffer),
		     U64("device_ns", info->device_ns), U64("cpu_ns", info->cpu_ns),
		     HEX("target_hash", info->target_hash));
}

static int save_caps(const char *device, const char *path)
{
	struct cnnrt_device *dev;
	struct cnnrt_error err;
	int ret = open_device(device, 0, &dev);

	if (ret)
		return ret;
	ret = checked(cnnrt_device_save_caps(dev, path, &err), &err);
	cnnrt_device_close(dev);
	return ret;
}

static int info_of(const char *name, struct json *j)
{
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_device *dev;
	struct cnnrt_error err;
	int ret = open_device(name, 0, &dev);

	if (ret)
		return ret;
	if (cnnrt_device_info(dev, &info, &err)) {
		cnnrt_device_close(dev);
		return complain_error(&err);
	}
	if (j->out) {
		json_open(j, NULL, '{');
		json_info(j, &info);
		json_open(j, "cores", '[');
	} else {
		show_info(&info);
	}
	for (unsigned int i = 0; !cnnrt_device_core(dev, i, &core, &err); i++) {
		if (j->out)
			json_core(j, &core);
		else
			show_core(i, &core);
	}
	if (j->out) {
		json_close(j, ']');
		json_close(j, '}');
	}
	cnnrt_device_close(dev);
	return EXIT_DONE;
}

struct listing {
	struct json *j;
	unsigned int usable;
};

static int list_one(const struct cnnrt_found *f, void *opaque)
{
	struct listing *l = opaque;

	if (f->state == CNNRT_OK) {
		l->usable += info_of(f->path, l->j) == EXIT_DONE;
		return 0;
	}
	if (l->j->out)
		JSON_OBJECT(l->j, NULL, TEXT("path", f->path), TEXT("bus", f->bus),
			    TEXT("problem", f->remedy));
	else
		printf("%s%s%s: cannot be used: %s\n", f->bus, *f->path ? " " : "", f->path,
		       f->remedy);
	return 0;
}

static const struct opt_spec info_options[] = {
	OPTION_DEVICE(struct common, device),
	OPTION_JSON(struct common, json),
	OPT_SETS_TEXT(struct common, caps, "caps", "FILE", "write what compiling needs to know of the "
		      "device to FILE, for cnnrun --compile --device-caps FILE where it is not"),
};

static const struct opt_command info_command = {
	.name = "info", .usage = { "[--device D] [--json]", "--caps FILE [--device D]" },
	.intro = "Prints what the device is, or why it cannot be used; without --device, every "
		 "accelerator of the machine.",
	.options = info_options, .count = ARRAY_SIZE(info_options),
};

int cmd_info(int argc, char **argv)
{
	struct json j = { 0 };
	struct listing l = { .j = &j };
	struct cnnrt_error err;
	struct common c = { 0 };
	int ret = opt_parse(&info_command, argc, argv, &c, NULL);

	if (ret)
		return ret;
	if (c.caps)
		return save_caps(c.device, c.caps);
	if (!c.device)
		c.device = getenv("CNNRT_DEVICE");
	if (c.device && !*c.device)
		c.device = NULL;
	if (c.json) {
		j.out = stdout;
		json_open(&j, NULL, '[');
	}
	if (c.device)
		ret = info_of(c.device, &j);
	else if (cnnrt_device_enumerate(list_one, &l, &err) < 0)
		ret = complain_error(&err);
	else
		ret = l.usable ? EXIT_DONE : EXIT_NO_DEVICE;
	if (c.json)
		json_close(&j, ']');
	if (ret == EXIT_NO_DEVICE && !c.device)
		complain(0, "no usable accelerator; --device sim or CNNRT_DEVICE=sim runs one "
			 "inside the process");
	return ret;
}

static const struct cnnacc_reg_info global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info queue_regs[] = CNNACC_QUEUE_REGS;

struct dump {
	struct cnnrt_device *dev;
	struct json j;
	struct cnnrt_error err;
	bool failed;
};

static void dump_reg(struct dump *d, const char *name, uint32_t offset)
{
	uint32_t value;

	if (d->failed)
		return;
	if (cnnrt_device_reg_read(d->dev, offset, &value, &d->err))
		d->failed = true;
	else if (d->j.out)
		json_hex(&d->j, name, value);
	else
		printf("%-24s 0x%04x  0x%08x\n", name, offset, value);
}

static void dump_table(struct dump *d, const struct cnnacc_reg_info *regs, size_t count,
		       uint32_t base)
{
	for (size_t i = 0; i < count; i++)
		dump_reg(d, regs[i].name, base + regs[i].offset);
}

static void section(struct dump *d, const char *name)
{
	if (d->failed)
		return;
	if (d->j.out)
		json_open(&d->j, name, '{');
	else
		printf("[%s]\n", name);
}

static void end_section(struct dump *d)
{
	if (d->j.out && !d->failed)
		json_close(&d->j, '}');
}

static void dump_regs(struct dump *d)
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_error err;
	char name[48];
	uint32_t offset;

	section(d, "shell");
	dump_table(d, global_regs, ARRAY_SIZE(global_regs), 0);
	end_section(d);
	for (unsigned int i = 0; !cnnrt_device_core(d->dev, i, &core, &err); i++) {
		snprintf(name, sizeof(name), "core%u.queue", i);
		section(d, name);
		dump_table(d, queue_regs, ARRAY_SIZE(queue_regs), core.queue_offset);
		end_section(d);
		snprintf(name, sizeof(name), "core%u.%s", i, core.name);
		section(d, name);
		for (uint32_t k = 0; cnn_desc_reg(cnn_core_desc(core.name), k, name, &offset); k++)
			dump_reg(d, name, core.window_offset + offset);
		end_section(d);
	}
}

static const struct opt_command regs_command = {
	.name = "regs", .usage = { "[--device D] [--json]" },
	.intro = "Prints the registers of the device and its cores by name (administrator).",
	DEVICE_AND_JSON,
};

static int print_regs(struct cnnrt_device *dev, const struct common *c)
{
	struct dump d = { .dev = dev };
	uint32_t magic;

	/* A first read without permission prints the error alone. */
	if (cnnrt_device_reg_read(dev, CNNACC_REG_MAGIC, &magic, &d.err))
		return complain_registers(&d.err);
	if (c->json) {
		d.j.out = stdout;
		json_open(&d.j, NULL, '{');
	}
	dump_regs(&d);
	while (d.j.depth)
		json_close(&d.j, '}');
	return d.failed ? complain_registers(&d.err) : EXIT_DONE;
}

int cmd_regs(int argc, char **argv)
{
	return run_on_device(&regs_command, argc, argv, print_regs);
}

static int force_reset(const char *path, const char *what)
{
	if (write_file(path, what, strlen(what)))
		return EXIT_DONE;
	if (errno == EACCES)
		return complain(EXIT_FAILED, "reset: only the administrator may reset the %s", what);
	return complain(EXIT_FAILED, "reset: %s through %s: %s", what, path, strerror(errno));
}

/*
 * The driver resets the device, or a core whose name is written, and fails or restarts its jobs.
 */
static int driver_reset(struct cnnrt_device *dev, const char *name)
{
	struct client_device d;
	char path[CLIENTS_PATH];
	uint32_t cores = 0;
	int ret = clients_device(dev, &d);

	if (!ret && name)
		ret = find_cores(dev, name, &cores);
	if (ret)
		return ret;
	clients_debugfs(&d, "force_reset", path);
	if (!name)
		ret = force_reset(path, "device");
	for (uint32_t i = 0; i < d.info.core_count && !ret; i++)
		if (cores & 1u << i)
			ret = force_reset(path, d.core[i]);
	return ret;
}

static const struct opt_spec reset_options[] = {
	OPTION_DEVICE(struct common, device),
	OPT_SETS_TEXT(struct common, core, "core", OPT_CORE_ARG, "reset all cores called NAME, or the "
		      "one that cnnctl info prints as NAME.INDEX; default: the device"),
};

static const struct opt_command reset_command = {
	.name = "reset", .usage = { "[--core NAME[.INDEX]] [--device D]" },
	.intro = "Has the driver reset the device, or cores of it (administrator).",
	.options = reset_options, .count = ARRAY_SIZE(reset_options),
};

static int reset(struct cnnrt_device *dev, const struct common *c)
{
	struct cnnrt_error err;

	if (c->core || cnnrt_device_fd(dev) >= 0)
		return driver_reset(dev, c->core);
	return cnnrt_device_reg_write(dev, CNNACC_REG_RESET, 1, &err) ?
	       complain_registers(&err) : EXIT_DONE;
}

int cmd_reset(int argc, char **argv)
{
	return run_on_device(&reset_command, argc, argv, reset);
}

static void report(const char *test, const char *failure, void *opaque)
{
	struct json *j = opaque;

	if (j->out)
		JSON_OBJECT(j, NULL, TEXT("test", test), TEXT("failure", failure));
	else
		printf("%s %s%s%s\n", *failure ? "FAIL" : "ok  ", test, *failure ? ": " : "",
		       failure);
}

#define DRIVER_TEST	"registers, interrupts and DMA"

static void report_skipped(const char *test, const struct json *j)
{
	if (!j->out)
		printf("skip %s: only for the administrator\n", test);
}

/*
 * The driver's own test, of registers, interrupts and DMA, for which it stops the device; for the
 * administrator. Returns whether the device passes, or there is no such test.
 */
static bool driver_selftest(struct cnnrt_device *dev, struct json *j)
{
	char path[CLIENTS_PATH], text[512] = "";
	struct client_device d;
	FILE *f;

	if (cnnrt_device_fd(dev) < 0 || clients_device(dev, &d))
		return true;
	clients_debugfs(&d, "selftest", path);
	f = fopen(path, "re");
	if (!f && errno == EACCES)
		report_skipped(DRIVER_TEST, j);
	if (!f)
		return true;
	if (!fgets(text, sizeof(text), f))
		snprintf(text, sizeof(text), "%s: %s", path, strerror(errno));
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(text, "ok"))
		*text = '\0';
	report(DRIVER_TEST, text, j);
	return !*text;
}

static const struct opt_command selftest_command = {
	.name = "selftest", .usage = { "[--device D] [--json]" },
	.intro = "Has the driver test registers, interrupts and DMA (administrator), and runs small "
		 "programs with known answers on every core.",
	DEVICE_AND_JSON,
};

static int selftest(struct cnnrt_device *dev, const struct common *c)
{
	struct json j = { .out = c->json ? stdout : NULL };
	struct cnnrt_error err;
	uint32_t magic;
	bool passes;
	int failed;

	if (c->json)
		json_open(&j, NULL, '[');
	passes = driver_selftest(dev, &j);
	if (cnnrt_device_reg_read(dev, CNNACC_REG_MAGIC, &magic, &err) && err.code == CNNRT_EACCES)
		report_skipped("registers keep their values", &j);
	failed = cnnrt_device_selftest(dev, report, &j, &err);
	if (c->json)
		json_close(&j, ']');
	if (failed < 0)
		return complain_error(&err);
	return failed || !passes ? EXIT_FAILED : EXIT_DONE;
}

int cmd_selftest(int argc, char **argv)
{
	return run_on_device(&selftest_command, argc, argv, selftest);
}
