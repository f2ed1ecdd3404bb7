/* SPDX-License-Identifier: MIT */
/* cnnctl info, regs, reset, selftest. */
#include "cnnctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_hw.h>
#include <cnnacc_seq.h>
#include <cnnacc_ccp.h>
#include <cnnacc_hwpe.h>

#include "clients.h"

/* ---- info ------------------------------------------------------------------------------ */

static void show_info(const struct cnnrt_device_info *info)
{
	printf("%s: cnnacc %u.%u, driver %s%s%s, %u core%s at %u MHz%s\n", info->path,
	       info->hw_version >> 16, info->hw_version & 0xffff, info->driver,
	       *info->bus ? ", bus " : "", info->bus, info->core_count,
	       info->core_count == 1 ? "" : "s", info->clock_hz / 1000000,
	       info->features & CNNACC_FEATURE_COHERENT ? ", coherent" : "");
	printf("  resets %" PRIu64 ", largest buffer %" PRIu64 " MiB\n", info->reset_count,
	       info->max_buffer >> 20);
}

static void show_ccp(const struct cnnrt_core_info *c)
{
	printf("    data banks 2 x %u KiB, weight banks 4 x %u KiB, %u output vectors, "
	       "%u x %u x %u MAC units\n", c->param[CNNACC_CCP_PARAM_DATA_BANK] >> 10,
	       c->param[CNNACC_CCP_PARAM_WEIGHT_BANK] >> 10, c->param[CNNACC_CCP_PARAM_LOB],
	       c->param[CNNACC_CCP_PARAM_GEOMETRY] >> 16 & 0xff,
	       c->param[CNNACC_CCP_PARAM_GEOMETRY] & 0xff,
	       c->param[CNNACC_CCP_PARAM_GEOMETRY] >> 8 & 0xff);
}

static void show_hwpe(const struct cnnrt_core_info *c)
{
	uint32_t geometry = c->param[CNNACC_HWPE_PARAM_GEOMETRY];
	uint32_t limits = c->param[CNNACC_HWPE_PARAM_LIMITS];

	printf("    fmap SRAMs 2 x %u KiB, kernel SRAMs %u KiB, %u PEs x %u AccRegs, %u-bit operands, "
	       "kernels up to %u, shifts up to %u\n", c->param[CNNACC_HWPE_PARAM_FMAP] >> 10,
	       c->param[CNNACC_HWPE_PARAM_KERNEL] >> 10, geometry & 0xff, geometry >> 8 & 0xff,
	       geometry >> 16 & 0xff, limits & 0xff, limits >> 8 & 0xff);
}

static void show_core(unsigned int i, const struct cnnrt_core_info *c)
{
	printf("  core %u: %s %u.%u, programs up to %u bytes and %" PRIu64 " cycles\n", i,
	       c->name, c->version >> 16, c->version & 0xffff, c->program_max,
	       c->job_cycles_max);
	if (c->type == CNNACC_CORE_CCP)
		show_ccp(c);
	else if (c->type == CNNACC_CORE_HWPE)
		show_hwpe(c);
}

static void json_core(struct json *j, const struct cnnrt_core_info *c)
{
	json_open(j, NULL, '{');
	json_string(j, "name", c->name);
	json_u64(j, "type", c->type);
	json_u64(j, "version", c->version);
	json_u64(j, "program_max", c->program_max);
	json_u64(j, "job_cycles_max", c->job_cycles_max);
	json_open(j, "param", '[');
	for (unsigned int i = 0; i < ARRAY_SIZE(c->param); i++)
		json_u64(j, NULL, c->param[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void json_info(struct json *j, const struct cnnrt_device_info *info)
{
	json_string(j, "path", info->path);
	json_string(j, "driver", info->driver);
	json_string(j, "bus", info->bus);
	json_hex(j, "hw_version", info->hw_version);
	json_hex(j, "features", info->features);
	json_u64(j, "clock_hz", info->clock_hz);
	json_u64(j, "reset_count", info->reset_count);
	json_u64(j, "max_buffer", info->max_buffer);
}

static int save_caps(const char *device, const char *path)
{
	struct cnnrt_device *dev;
	struct cnnrt_error err;
	int ret = open_device(device, 0, &dev);

	if (ret)
		return ret;
	if (cnnrt_device_save_caps(dev, path, &err))
		ret = complain_error(&err);
	cnnrt_device_close(dev);
	return ret;
}

static int info_of(const char *name, struct json *j)
{
	struct cnnrt_device_info info;
	struct cnnrt_core_info core;
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
	if (l->j->out) {
		json_open(l->j, NULL, '{');
		json_string(l->j, "path", f->path);
		json_string(l->j, "bus", f->bus);
		json_string(l->j, "problem", f->remedy);
		json_close(l->j, '}');
	} else {
		printf("%s%s%s: cannot be used: %s\n", f->bus, *f->path ? " " : "", f->path,
		       f->remedy);
	}
	return 0;
}

int cmd_info(int argc, char **argv)
{
	struct json j = { 0 };
	struct listing l = { .j = &j };
	struct cnnrt_error err;
	struct common c;
	int ret = parse_common(argc, argv, "info", &c);

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
		complain(0, "no usable accelerator; --device sim runs one inside the process");
	return ret;
}

/* ---- registers ------------------------------------------------------------------------- */

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

static void dump_numbered(struct dump *d, const char *group, uint32_t offset, unsigned int count)
{
	char name[32];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%.20s_%u", group, i);
		dump_reg(d, name, offset + 4 * i);
	}
}

static void dump_ccp(struct dump *d, uint32_t base)
{
	static const struct {
		const char *name;
		uint32_t offset;
	} groups[] = {
		{ "GPR", CNNACC_CCP_REG_GPR(0) }, { "CONV0", CNNACC_CCP_REG_CONV0(0) },
		{ "CONV1", CNNACC_CCP_REG_CONV1(0) }, { "POOL0", CNNACC_CCP_REG_POOL0(0) },
		{ "PAD0", CNNACC_CCP_REG_PAD0(0) }, { "FC0", CNNACC_CCP_REG_FC0(0) },
	};

	dump_reg(d, "ID", base + CNNACC_CCP_REG_ID);
	dump_reg(d, "PC", base + CNNACC_CCP_REG_PC);
	dump_reg(d, "STATE", base + CNNACC_CCP_REG_STATE);
	dump_reg(d, "BANK_SEL", base + CNNACC_CCP_REG_BANK_SEL);
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		dump_numbered(d, groups[g].name, base + groups[g].offset, CNNACC_CCP_GPRS);
}

static void dump_hwpe(struct dump *d, uint32_t base)
{
	char name[32];

	dump_reg(d, "ID", base + CNNACC_SEQ_REG_ID);
	dump_reg(d, "PC", base + CNNACC_SEQ_REG_PC);
	dump_reg(d, "STATE", base + CNNACC_SEQ_REG_STATE);
	dump_reg(d, "EVENT", base + CNNACC_SEQ_REG_EVENT);
	dump_reg(d, "LOOPS", base + CNNACC_SEQ_REG_LOOPS);
	dump_numbered(d, "ITERATION", base + CNNACC_SEQ_REG_ITERATION(0), CNNACC_SEQ_LOOPS);
	dump_reg(d, "STATUS", base + CNNACC_HWPE_REG_STATUS);
	dump_reg(d, "ROUND", base + CNNACC_HWPE_REG_ROUND);
	dump_reg(d, "ROUNDS", base + CNNACC_HWPE_REG_ROUNDS);
	dump_numbered(d, "CFG", base + CNNACC_HWPE_REG_CFG(0), 2);
	dump_numbered(d, "MAC", base + CNNACC_HWPE_REG_MAC(0), 2);
	dump_numbered(d, "BASE", base + CNNACC_HWPE_REG_BASE(0), CNNACC_HWPE_ACCS);
	for (unsigned int n = 0; n < CNNACC_HWPE_ACCS; n++) {
		snprintf(name, sizeof(name), "ACC%u", n);
		dump_numbered(d, name, base + CNNACC_HWPE_REG_ACC(0, n), CNNACC_HWPE_PES);
	}
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
	struct cnnrt_core_info core;
	struct cnnrt_error err;
	char name[48];

	section(d, "shell");
	dump_table(d, global_regs, ARRAY_SIZE(global_regs), 0);
	end_section(d);
	for (unsigned int i = 0; !cnnrt_device_core(d->dev, i, &core, &err); i++) {
		snprintf(name, sizeof(name), "core%u.queue", i);
		section(d, name);
		dump_table(d, queue_regs, ARRAY_SIZE(queue_regs), core.queue_offset);
		end_section(d);
		if (core.type != CNNACC_CORE_CCP && core.type != CNNACC_CORE_HWPE)
			continue;
		snprintf(name, sizeof(name), "core%u.%s", i, core.name);
		section(d, name);
		if (core.type == CNNACC_CORE_CCP)
			dump_ccp(d, core.window_offset);
		else
			dump_hwpe(d, core.window_offset);
		end_section(d);
	}
}

int cmd_regs(int argc, char **argv)
{
	struct dump d = { 0 };
	struct common c;
	uint32_t magic;
	int ret = parse_common(argc, argv, "regs", &c);

	if (!ret)
		ret = open_device(c.device, 0, &d.dev);
	if (ret)
		return ret;
	/* Who may not read them sees nothing but that. */
	d.failed = cnnrt_device_reg_read(d.dev, CNNACC_REG_MAGIC, &magic, &d.err);
	if (!d.failed) {
		if (c.json) {
			d.j.out = stdout;
			json_open(&d.j, NULL, '{');
		}
		dump_regs(&d);
		while (d.j.depth)
			json_close(&d.j, '}');
	}
	cnnrt_device_close(d.dev);
	return d.failed ? complain(EXIT_FAILED, "%s", d.err.text) : EXIT_DONE;
}

/* ---- reset, selftest ------------------------------------------------------------------- */

static int find_core_key(const struct client_device *d, const char *name)
{
	for (unsigned int i = 0; i < d->info.core_count; i++)
		if (!strcmp(d->core[i], name))
			return (int)i;
	return -1;
}

static int reset_core(struct cnnrt_device *dev, const char *core)
{
	struct client_device d;
	char path[CLIENTS_PATH];
	int ret = clients_device(dev, &d);

	if (ret)
		return ret;
	if (find_core_key(&d, core) < 0)
		return complain(EXIT_USAGE, "reset: the device has cores %s to %s, not \"%s\"",
				d.core[0], d.core[d.info.core_count - 1], core);
	clients_debugfs(&d, "force_reset", path);
	if (!write_file(path, core, strlen(core)))
		return complain(EXIT_FAILED, "reset: core \"%s\" through %s: %s", core, path,
				strerror(errno));
	return EXIT_DONE;
}

/* The driver takes the write as a request and looks after its jobs. */
int cmd_reset(int argc, char **argv)
{
	struct cnnrt_device *dev;
	struct cnnrt_error err;
	struct common c;
	int ret = parse_common(argc, argv, "reset", &c);

	if (!ret)
		ret = open_device(c.device, 0, &dev);
	if (ret)
		return ret;
	if (c.core)
		ret = reset_core(dev, c.core);
	else if (cnnrt_device_reg_write(dev, CNNACC_REG_RESET, 1, &err))
		ret = complain(EXIT_FAILED, "%s", err.text);
	cnnrt_device_close(dev);
	return ret;
}

static void report(const char *test, const char *failure, void *opaque)
{
	struct json *j = opaque;

	if (j->out) {
		json_open(j, NULL, '{');
		json_string(j, "test", test);
		json_string(j, "failure", failure);
		json_close(j, '}');
	} else {
		printf("%s %s%s%s\n", *failure ? "FAIL" : "ok  ", test, *failure ? ": " : "",
		       failure);
	}
}

int cmd_selftest(int argc, char **argv)
{
	struct json j = { 0 };
	struct cnnrt_device *dev;
	struct cnnrt_error err;
	struct common c;
	int failed, ret = parse_common(argc, argv, "selftest", &c);

	if (!ret)
		ret = open_device(c.device, 0, &dev);
	if (ret)
		return ret;
	if (c.json) {
		j.out = stdout;
		json_open(&j, NULL, '[');
	}
	failed = cnnrt_device_selftest(dev, report, &j, &err);
	if (c.json)
		json_close(&j, ']');
	cnnrt_device_close(dev);
	if (failed < 0)
		return complain(EXIT_FAILED, "%s", err.text);
	return failed ? EXIT_FAILED : EXIT_DONE;
}
