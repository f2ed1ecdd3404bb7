/* SPDX-License-Identifier: MIT */
/* cnnctl core, cnnctl replay: print a coredump of the driver, or run its program again. */
#include "cnnctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/desc.h"
#include "dump.h"

#define REPLAY_TIMEOUT_NS	60000000000
#define WORDS_AROUND		3	/* instructions printed before and after the last */

struct request {
	const char *path;
	bool json;
	void *data;
	struct dump dump;
};

static int set_path(void *request, char *text)
{
	struct request *r = request;

	if (r->path)
		return complain(EXIT_USAGE, "one FILE is read: there is \"%s\" and \"%s\"", r->path,
				text);
	r->path = text;
	return EXIT_DONE;
}

static const struct opt_spec options[] = {
	OPTION_JSON(struct request, json),
};

static const struct opt_command core_command = {
	.name = "core", .usage = { "FILE [--json]" },
	.intro = "Prints a coredump of the driver, a copy of /sys/class/devcoredump/devcdN/data.",
	.options = options, .count = ARRAY_SIZE(options), .operand = set_path,
};

static const struct opt_command replay_command = {
	.name = "replay", .usage = { "FILE [--json]" },
	.intro = "Runs a coredump's program on a device inside the process and tells whether it ends "
		 "at the same place.",
	.notes = "Exit status:\n  0  at the same place\n  1  failed\n  2  usage\n"
		 "  4  at another place",
	.options = options, .count = ARRAY_SIZE(options), .operand = set_path,
};

static int load(struct request *r)
{
	struct cnnrt_error err;
	size_t size;

	if (!read_file(r->path, &r->data, &size))
		return complain(EXIT_FAILED, "%s: %s", r->path, strerror(errno));
	if (dump_parse(&r->dump, r->data, size, &err))
		return complain(EXIT_FAILED, "%s: %s", r->path, err.text);
	return EXIT_DONE;
}

static int run_command(const struct opt_command *c, int argc, char **argv,
		       int (*run)(struct request *r))
{
	struct request *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return complain(EXIT_FAILED, "%s: out of memory", c->name);
	ret = opt_parse(c, argc, argv, r, NULL);
	if (!ret && !r->path)
		ret = opt_missing(c, "FILE");
	ret = ret ?: load(r) ?: run(r);
	free(r->data);
	free(r);
	return ret;
}

static const struct cnnacc_reg_info global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info queue_regs[] = CNNACC_QUEUE_REGS;

static const char *find_reg(const struct cnnacc_reg_info *info, size_t count, uint32_t offset)
{
	for (size_t i = 0; i < count; i++)
		if (info[i].offset == offset)
			return info[i].name;
	return NULL;
}

static const char *reg_name(const struct dump *d, uint32_t offset, char buf[CNN_DESC_REG_NAME])
{
	const struct cnn_core_desc *desc = cnn_core_desc(d->job.entry.name);
	const struct cnnacc_core_entry *e = &d->job.entry;
	const char *name = find_reg(global_regs, ARRAY_SIZE(global_regs), offset);

	if (!name && offset >= e->queue_offset)
		name = find_reg(queue_regs, ARRAY_SIZE(queue_regs), offset - e->queue_offset);
	if (name)
		return name;
	if (offset < e->window_offset || offset - e->window_offset >= e->window_size) {
		snprintf(buf, CNN_DESC_REG_NAME, "0x%x", offset);
		return buf;
	}
	offset -= e->window_offset;
	for (uint32_t i = 0, at; cnn_desc_reg(desc, i, buf, &at); i++)
		if (at == offset)
			return buf;
	snprintf(buf, CNN_DESC_REG_NAME, "window+0x%x", offset);
	return buf;
}

static const char *flags_text(uint32_t flags, char buf[4])
{
	buf[0] = flags & CNNACC_PTE_READ ? 'r' : '-';
	buf[1] = flags & CNNACC_PTE_WRITE ? 'w' : '-';
	buf[2] = flags & CNNACC_PTE_EXEC ? 'x' : '-';
	buf[3] = '\0';
	return buf;
}

static const char *time_text(uint64_t ns, char *buf, size_t len)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(buf, len, "%Y-%m-%d %H:%M:%S UTC", &tm))
		snprintf(buf, len, "?");
	return buf;
}

/* Is the packet at index i of the ring not completed yet? */
static bool is_pending(const struct dump *d, size_t i)
{
	size_t size = d->packet_count, head = d->job.records_head, tail = d->job.ring_tail;

	/* The driver consumes one completion record per packet. */
	return head < size && tail < size && (i + size - head) % size < (tail + size - head) % size;
}

/* Computes the numbers of the first and last instruction to print. */
static void words_around(uint32_t pc, uint32_t *first, uint32_t *last)
{
	*first = pc > WORDS_AROUND ? pc - WORDS_AROUND : 0;
	*last = pc < UINT32_MAX - WORDS_AROUND ? pc + WORDS_AROUND : UINT32_MAX - 1;
}

/* Copies the dump_insn_words() words of an instruction; false if the dump lacks it. */
static bool insn_words(const struct dump *d, uint32_t pc, uint32_t *words)
{
	for (uint32_t n = 0; n < dump_insn_words(d); n++)
		if (!dump_word(d, pc, n, &words[n]))
			return false;
	return true;
}

/* Decodes an instruction; "" if the core is unknown. */
static const char *insn_text(const struct dump *d, const uint32_t *words, char *buf, size_t len)
{
	const struct cnn_core_desc *desc = cnn_core_desc(d->job.entry.name);

	*buf = '\0';
	if (desc)
		desc->decode(words, buf, len);
	return buf;
}

static void show_job(const struct dump *d, const struct cnnrt_job_status *s)
{
	const struct cnnacc_dump_job *j = &d->job;
	uint32_t first, last, word[CNN_DESC_INSN_WORDS_MAX];
	char when[64], text[160];

	printf("job %" PRIu64 " of context %u, task %u of %u, core %s.%u, %s%s\n",
	       (uint64_t)j->seqno, j->ctx_id, j->task, j->task_count, j->entry.name, j->core,
	       time_text(j->time_ns, when, sizeof(when)),
	       d->header.flags & CNNACC_DUMP_TRUNCATED ? " (incomplete)" : "");
	printf("ended: %s\n", s->text);
	printf("program: VA 0x%x, %u bytes, cycle limit %" PRIu64 "; took %" PRIu64 " cycles\n",
	       j->packet.program_va, j->packet.program_len, (uint64_t)j->packet.cycle_limit,
	       (uint64_t)j->record.cycles);
	words_around(s->pc, &first, &last);
	for (uint32_t i = first; i <= last && insn_words(d, i, word); i++) {
		printf("  %s %5u:", i == s->pc ? ">" : " ", i);
		for (uint32_t n = 0; n < dump_insn_words(d); n++)
			printf(" %08x", word[n]);
		printf("  %s\n", insn_text(d, word, text, sizeof(text)));
	}
}

static void show_memory(const struct dump *d)
{
	char flags[4];

	if (d->has_walk)
		printf("walk of VA 0x%" PRIx64 ": root 0x%" PRIx64 ", directory entry %08x, page "
		       "entry %08x\n", (uint64_t)d->walk.va, (uint64_t)d->walk.root,
		       d->walk.dir_entry, d->walk.page_entry);
	printf("mapped:\n");
	for (size_t i = 0; i < d->range_count; i++)
		printf("  0x%08" PRIx64 "..0x%08" PRIx64 " %s\n", (uint64_t)d->ranges[i].va,
		       (uint64_t)(d->ranges[i].va + d->ranges[i].size - 1),
		       flags_text(d->ranges[i].flags, flags));
	printf("programs dumped:\n");
	for (size_t i = 0; i < d->program_count; i++)
		printf("  VA 0x%" PRIx64 ", %" PRIu64 " bytes\n", d->programs[i].va,
		       d->programs[i].size);
}

static void show_queue(const struct dump *d)
{
	printf("packets not completed:\n");
	for (size_t i = 0; i < d->packet_count; i++) {
		const struct cnnacc_packet *p = &d->packets[i];

		if (is_pending(d, i))
			printf("  %3zu: fence %" PRIu64 ", context %u, program VA 0x%x of %u "
			       "bytes, flags 0x%x\n", i, (uint64_t)p->fence, p->ctx_id,
			       p->program_va, p->program_len, p->flags);
	}
	printf("completion records:\n");
	for (size_t i = 0; i < d->record_count; i++) {
		const struct cnnacc_completion *c = &d->records[i];

		if (c->seq)
			printf("  %3zu: number %u, fence %" PRIu64 ", context %u, class %u code "
			       "%u, instruction %u, %" PRIu64 " cycles\n", i, c->seq,
			       (uint64_t)c->fence, c->ctx_id, c->status_class, c->status_code,
			       c->pc, (uint64_t)c->cycles);
	}
}

static void show_regs(const struct dump *d)
{
	char name[CNN_DESC_REG_NAME];

	printf("registers:\n");
	for (size_t i = 0; i < d->reg_count; i++)
		printf("  %04x %-14s %08x\n", d->regs[i].offset,
		       reg_name(d, d->regs[i].offset, name), d->regs[i].value);
}

static void json_job(struct json *j, const struct dump *d)
{
	const struct cnnacc_dump_job *job = &d->job;

	JSON_MEMBERS(j, U64("seqno", job->seqno), U64("context", job->ctx_id),
		     U64("core", job->core), U64("task", job->task),
		     U64("task_count", job->task_count), U64("time_ns", job->time_ns),
		     HEX("program_va", job->packet.program_va),
		     U64("program_len", job->packet.program_len),
		     U64("cycle_limit", job->packet.cycle_limit),
		     U64("cycles", job->record.cycles));
	json_bool(j, "truncated", d->header.flags & CNNACC_DUMP_TRUNCATED);
}

static void json_program(struct json *j, const struct dump *d, uint32_t pc)
{
	uint32_t first, last, word[CNN_DESC_INSN_WORDS_MAX];
	char text[160];

	words_around(pc, &first, &last);
	json_open(j, "program", '[');
	for (uint32_t i = first; i <= last && insn_words(d, i, word); i++) {
		json_open(j, NULL, '{');
		JSON_MEMBERS(j, U64("pc", i), HEX("word", word[0]));
		if (dump_insn_words(d) > 1)
			json_open(j, "operands", '[');
		for (uint32_t n = 1; n < dump_insn_words(d); n++)
			json_hex(j, NULL, word[n]);
		if (dump_insn_words(d) > 1)
			json_close(j, ']');
		json_string(j, "text", insn_text(d, word, text, sizeof(text)));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_memory(struct json *j, const struct dump *d)
{
	char flags[4];

	if (d->has_walk) {
		const struct cnnacc_dump_walk *w = &d->walk;

		JSON_OBJECT(j, "walk", HEX("va", w->va), HEX("root", w->root),
			    HEX("dir_entry", w->dir_entry), HEX("page_entry", w->page_entry));
	}
	json_open(j, "mapped", '[');
	for (size_t i = 0; i < d->range_count; i++)
		JSON_OBJECT(j, NULL, HEX("va", d->ranges[i].va), U64("size", d->ranges[i].size),
			    TEXT("flags", flags_text(d->ranges[i].flags, flags)));
	json_close(j, ']');
	json_open(j, "programs", '[');
	for (size_t i = 0; i < d->program_count; i++)
		JSON_OBJECT(j, NULL, HEX("va", d->programs[i].va),
			    U64("size", d->programs[i].size));
	json_close(j, ']');
}

static void json_packets(struct json *j, const struct dump *d)
{
	json_open(j, "packets", '[');
	for (size_t i = 0; i < d->packet_count; i++) {
		const struct cnnacc_packet *p = &d->packets[i];

		if (is_pending(d, i))
			JSON_OBJECT(j, NULL, U64("index", i), U64("fence", p->fence),
				    U64("context", p->ctx_id), HEX("program_va", p->program_va),
				    U64("program_len", p->program_len), HEX("flags", p->flags));
	}
	json_close(j, ']');
}

static void json_records(struct json *j, const struct dump *d)
{
	json_open(j, "records", '[');
	for (size_t i = 0; i < d->record_count; i++) {
		const struct cnnacc_completion *c = &d->records[i];

		if (c->seq)
			JSON_OBJECT(j, NULL, U64("index", i), U64("seq", c->seq),
				    U64("fence", c->fence), U64("context", c->ctx_id),
				    U64("class_value", c->status_class),
				    U64("code_value", c->status_code), U64("pc", c->pc),
				    U64("cycles", c->cycles));
	}
	json_close(j, ']');
}

static void json_regs(struct json *j, const struct dump *d)
{
	char name[CNN_DESC_REG_NAME];

	json_open(j, "registers", '[');
	for (size_t i = 0; i < d->reg_count; i++)
		JSON_OBJECT(j, NULL, HEX("offset", d->regs[i].offset),
			    TEXT("name", reg_name(d, d->regs[i].offset, name)),
			    HEX("value", d->regs[i].value));
	json_close(j, ']');
}

static int print_core(struct request *r)
{
	const struct dump *d = &r->dump;
	struct json j = { .out = stdout };
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };

	dump_status(d, &status);
	if (r->json) {
		json_open(&j, NULL, '{');
		json_status(&j, "status", &status);
		json_job(&j, d);
		json_program(&j, d, status.pc);
		json_memory(&j, d);
		json_packets(&j, d);
		json_records(&j, d);
		json_regs(&j, d);
		json_close(&j, '}');
	} else {
		show_job(d, &status);
		show_memory(d);
		show_queue(d);
		show_regs(d);
	}
	return EXIT_DONE;
}

static int print_replay(struct request *r)
{
	struct cnnrt_job_status recorded = { .struct_size = sizeof(recorded) };
	struct cnnrt_job_status replayed = { .struct_size = sizeof(replayed) };
	struct json j = { .out = stdout };
	struct cnnrt_error err;
	bool same;

	if (dump_replay(&r->dump, REPLAY_TIMEOUT_NS, &replayed, &err) ||
	    cnnrt_status_describe(r->dump.job.entry.name, &replayed, &err))
		return complain(EXIT_FAILED, "%s: %s", r->path, err.text);
	dump_status(&r->dump, &recorded);
	same = dump_same(&r->dump, &replayed);
	if (r->json) {
		json_open(&j, NULL, '{');
		json_status(&j, "recorded", &recorded);
		json_status(&j, "replayed", &replayed);
		json_bool(&j, "same", same);
		json_close(&j, '}');
	} else {
		printf("recorded: %s\nreplayed: %s\n%s\n", recorded.text, replayed.text,
		       same ? "the same" : "not the same");
	}
	return same ? EXIT_DONE : EXIT_DIFFERS;
}

int cmd_core(int argc, char **argv)
{
	return run_command(&core_command, argc, argv, print_core);
}

int cmd_replay(int argc, char **argv)
{
	return run_command(&replay_command, argc, argv, print_replay);
}
