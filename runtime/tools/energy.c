/* SPDX-License-Identifier: MIT */
/* The table of energies (Documentation/user/profile.rst derives the defaults). */
#include "energy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PJ_MAX		1e6
#define SRAM_MAX	((uint64_t)1 << 30)

const char *const energy_mac_names[ENERGY_MACS] = { "FP32", "FP16", "INT8", "EXP4", "TER2" };

/*
 * 45 nm, 0.9 V: M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC
 * 2014. Of two numbers of a range the lower one.
 */
static const struct energy_table defaults = {
	.mac = {
		3.7 + 0.9,	/* multiplies and adds FP32 */
		1.1 + 0.9,	/* multiplies FP16, adds FP32 */
		0.2 + 0.1,	/* multiplies 8 bits, adds 32 */
		0.03 + 0.1,	/* adds exponents of at most 8 bits, adds 32 bits */
		0.1,		/* adds 32 bits */
	},
	.memory = 1300.0 / 8,
	.cpu = 70 * 1.2,	/* an instruction each cycle of 1.2 GHz */
	.sram = { { 8192, 10.0 / 8 }, { 32768, 20.0 / 8 }, { 1048576, 100.0 / 8 } },
	.srams = 3,
};

struct reader {
	struct energy_table *t;
	unsigned int line;
	bool seen[ENERGY_MACS + 2];	/* mac.*, memory, cpu */
};

static int refuse(const struct reader *r, const char *key, const char *why)
{
	char text[64];

	return complain(EXIT_FAILED, "%s: line %u: %s: %s", r->t->path, r->line,
			clean(key, text, sizeof(text)), why);
}

static bool parse_pj(const char *text, double *pj)
{
	char *end;

	*pj = strtod(text, &end);
	return end != text && !*end && *pj >= 0 && *pj <= PJ_MAX;
}

/* sram.BYTES: keeps them in order. */
static int add_sram(struct reader *r, const char *key, double pj)
{
	struct energy_table *t = r->t;
	unsigned int at = t->srams;
	uint64_t bytes;

	if (!parse_u64(key + strlen("sram."), &bytes) || !bytes || bytes > SRAM_MAX)
		return refuse(r, key, "the size is no number from 1 to 1073741824");
	if (t->srams == ENERGY_SRAMS)
		return refuse(r, key, "there are 16 sizes already, which is the limit");
	while (at && t->sram[at - 1].bytes >= bytes)
		at--;
	if (at < t->srams && t->sram[at].bytes == bytes)
		return refuse(r, key, "it is there twice");
	memmove(&t->sram[at + 1], &t->sram[at], (t->srams - at) * sizeof(t->sram[0]));
	t->sram[at] = (struct energy_sram){ bytes, pj };
	t->srams++;
	return EXIT_DONE;
}

/* The number that a key means; -1: none. */
static int key_number(const char *key)
{
	for (int i = 0; i < ENERGY_MACS; i++)
		if (!strncmp(key, "mac.", 4) && !strcmp(key + 4, energy_mac_names[i]))
			return i;
	return !strcmp(key, "memory") ? ENERGY_MACS : !strcmp(key, "cpu") ? ENERGY_MACS + 1 : -1;
}

static int set(struct reader *r, const char *key, const char *value)
{
	int number = key_number(key);
	double pj;

	if (number < 0 && strncmp(key, "sram.", strlen("sram.")))
		return refuse(r, key, "there is no such key; there are mac.FP32, mac.FP16, "
			      "mac.INT8, mac.EXP4, mac.TER2, memory, cpu and sram.BYTES");
	if (!parse_pj(value, &pj))
		return refuse(r, key, "its value is no number of pJ from 0 to 1000000");
	if (number < 0)
		return add_sram(r, key, pj);
	if (r->seen[number])
		return refuse(r, key, "it is there twice");
	r->seen[number] = true;
	*(number < ENERGY_MACS ? &r->t->mac[number] : number == ENERGY_MACS ? &r->t->memory :
	  &r->t->cpu) = pj;
	return EXIT_DONE;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int read_line(struct reader *r, char *line)
{
	char *text = trim(line), *mark = strchr(text, '=');

	if (!*text || *text == '#')
		return EXIT_DONE;
	if (!mark)
		return refuse(r, text, "key=value is wanted, or # and a comment");
	*mark = '\0';
	return set(r, trim(text), trim(mark + 1));
}

static int read_lines(struct reader *r, char *text)
{
	int ret = EXIT_DONE;

	r->t->srams = 0;
	for (char *line; !ret && (line = strsep(&text, "\n"));) {
		r->line++;
		ret = read_line(r, line);
	}
	if (!r->t->srams) {
		memcpy(r->t->sram, defaults.sram, sizeof(defaults.sram));
		r->t->srams = defaults.srams;
	}
	return ret;
}

int energy_read(const char *path, struct energy_table *t)
{
	struct reader r = { .t = t };
	size_t size;
	void *data;
	int ret;

	*t = defaults;
	t->path = path;
	if (!path)
		return EXIT_DONE;
	if (!read_file(path, &data, &size))
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	((char *)data)[size] = '\0';
	ret = strlen(data) == size ? read_lines(&r, data) :
	      complain(EXIT_FAILED, "%s: a byte is zero: it is no text", path);
	free(data);
	return ret;
}

bool energy_mac(const struct energy_table *t, const char *name, double *pj)
{
	for (int i = 0; i < ENERGY_MACS; i++) {
		if (strcmp(name, energy_mac_names[i]))
			continue;
		*pj = t->mac[i];
		return true;
	}
	return false;
}

double energy_sram(const struct energy_table *t, uint64_t bytes)
{
	const struct energy_sram *a = t->sram, *b;
	double share;

	if (bytes <= a->bytes)
		return a->pj;
	for (; a + 1 < t->sram + t->srams && a[1].bytes < bytes; a++)
		;
	b = a + 1;
	if (b == t->sram + t->srams)
		return a->pj;
	share = log((double)bytes / (double)a->bytes) / log((double)b->bytes / (double)a->bytes);
	return a->pj > 0 && b->pj > 0 ? a->pj * pow(b->pj / a->pj, share) :
					a->pj + share * (b->pj - a->pj);
}
