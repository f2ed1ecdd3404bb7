/* SPDX-License-Identifier: MIT */
/* --report --core all: the rows, and what they share. */
#include "cnnrun.h"
#include "cores_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "sim:cores=A+B": a device in this process with each core that has a back end. */
static char *every_core(void)
{
	const struct cnn_core_desc *desc;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; i < CNNRT_MAX_CORES && (desc = cnn_core_desc_at(i)); i++)
		fprintf(f, "%s%s", i ? "+" : "sim:cores=", desc->name);
	return fclose(f) ? NULL : text;
}

static int open_cores(struct cores_report *r)
{
	const char *wanted = r->o->device;
	char *every = NULL;
	int ret;

	if (!wanted && !getenv("CNNRT_DEVICE")) {
		every = every_core();
		if (!every)
			return complain(EXIT_FAILED, "out of memory");
		wanted = every;
	}
	ret = open_device(wanted, r->o->load_module ? CNNRT_OPEN_LOAD_MODULE : 0, &r->dev);
	free(every);
	return ret;
}

static int read_device(struct cores_report *r)
{
	struct cnnrt_error err;

	r->info.struct_size = sizeof(r->info);
	if (cnnrt_device_info(r->dev, &r->info, &err))
		return complain_error(&err);
	for (unsigned int i = 0; i < r->info.core_count; i++) {
		const struct cnn_core_desc *desc;

		r->core[i].struct_size = sizeof(r->core[i]);
		if (cnnrt_device_core(r->dev, i, &r->core[i], &err))
			return complain_error(&err);
		desc = cnn_core_desc(r->core[i].name);
		if (desc && desc->memories)
			r->memories[i].count = desc->memories(r->core[i].param,
							      r->core[i].program_max,
							      r->memories[i].at);
	}
	return checked(cnnrt_context_create(r->dev, CNNRT_PRIORITY_NORMAL, &r->ctx, &err), &err);
}

/* Names the variant that runs, as a network may take long. */
static void show_progress(const struct cores_row *row)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s %s", cores_row_name(row), row->variant->name);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* The variant of a core that computes the same format; NULL: none. */
static const struct cnn_core_variant *variant_like(const struct cnn_core_desc *desc,
						   const struct cnn_core_variant *like)
{
	for (size_t i = 0; desc && i < desc->n_variants; i++) {
		const struct cnn_core_variant *v = &desc->variants[i];

		if (v->format ? like->format && !strcmp(v->format, like->format) : !like->format)
			return v;
	}
	return NULL;
}

/* How a core multiplies in the row: as in its variant of that format; other codes are bytes. */
static const char *mac_of(const struct cores_row *row, const char *core)
{
	const struct cnn_core_variant *own = variant_like(cnn_core_desc(core), row->variant);

	if (row->core)
		return row->variant->mac;
	return own ? own->mac : row->variant->format ? "INT8" : row->variant->mac;
}

static void name_macs(const struct cores_report *r, struct cores_row *row)
{
	for (unsigned int i = 0; i < r->info.core_count; i++)
		row->use[i].mac = mac_of(row, r->core[i].name);
}

static int fill_row(struct cores_report *r, const struct cnnrt_program *p, struct cores_row *row)
{
	int ret = cores_measure(r, p, row);

	if (!ret) {
		name_macs(r, row);
		cores_add_energy(r, row);
	}
	return ret;
}

static struct cores_row *add_row(struct cores_report *r, const char *core,
				 const struct cnn_core_variant *v)
{
	struct cores_row *row = &r->row[r->rows];

	if (r->rows == CORES_ROWS) {
		complain(0, "the report has %d rows already: %s %s is left out", CORES_ROWS,
			 core ? core : "all", v->name);
		return NULL;
	}
	*row = (struct cores_row){
		.core = core, .variant = v, .est.struct_size = sizeof(row->est),
	};
	r->rows++;
	return row;
}

static int run_variant(struct cores_report *r, const char *core, const struct cnn_core_variant *v)
{
	struct cores_row *row = add_row(r, core, v);
	struct cnnrt_program *p = NULL;
	const struct cores_network *n;
	int ret;

	if (!row)
		return EXIT_FAILED;
	show_progress(row);
	ret = cores_network(r, v->format, &n, &row->why);
	if (!ret && !row->why)
		ret = cores_compile(r, n, v->half, core, &p, &row->why);
	if (!ret && p)
		ret = fill_row(r, p, row);
	cnnrt_program_free(p);
	return ret;
}

static bool is_first_of_name(const struct cores_report *r, unsigned int core)
{
	for (unsigned int i = 0; i < core; i++)
		if (!strcmp(r->core[i].name, r->core[core].name))
			return false;
	return true;
}

static int run_cores(struct cores_report *r)
{
	int ret = EXIT_DONE;

	for (unsigned int i = 0; i < r->info.core_count && !ret; i++) {
		const struct cnn_core_desc *desc = cnn_core_desc(r->core[i].name);

		if (!is_first_of_name(r, i))
			continue;
		if (!desc || !desc->n_variants)
			complain(0, "core %s states no variants, and is left out", r->core[i].name);
		for (size_t k = 0; desc && k < desc->n_variants && !ret; k++)
			ret = run_variant(r, r->core[i].name, &desc->variants[k]);
	}
	return ret;
}

/* Are its answers good enough to be the best? */
static bool qualifies(const struct cores_row *row)
{
	return !row->why && (!row->accuracy.samples ||
			     cores_snr(&row->accuracy) >= CORES_LEAST_DB);
}

/* Of two rows that do not qualify the more accurate one is better. */
static bool is_better(const struct cores_row *a, const struct cores_row *b)
{
	if (qualifies(a) != qualifies(b))
		return qualifies(a);
	return qualifies(a) ? a->est.ns < b->est.ns :
			      cores_snr(&a->accuracy) > cores_snr(&b->accuracy);
}

static void mark_best(struct cores_report *r)
{
	for (unsigned int i = 0; i < r->rows; i++) {
		struct cores_row *row = &r->row[i];

		row->best = !row->why;
		for (unsigned int k = 0; k < r->rows && row->best; k++)
			if (k != i && !r->row[k].why && !strcmp(r->row[k].core, row->core))
				row->best = k > i ? !is_better(&r->row[k], row) :
						    is_better(row, &r->row[k]);
	}
}

/* Has a row before this one the same format and precision? */
static bool is_known(const struct cores_report *r, unsigned int row)
{
	const struct cnn_core_variant *v = r->row[row].variant;

	for (unsigned int i = 0; i < row; i++) {
		const struct cnn_core_variant *w = r->row[i].variant;

		if (qualifies(&r->row[i]) && v->half == w->half &&
		    (v->format ? w->format && !strcmp(v->format, w->format) : !w->format))
			return true;
	}
	return false;
}

/* A program for all cores, and the variant that it has. */
struct choice {
	struct cnnrt_program *p;
	const struct cnn_core_variant *variant;
	uint64_t ns;
};

/* Compiles a variant for all cores and keeps the program that ends soonest. */
static int try_everywhere(struct cores_report *r, const struct cnn_core_variant *v,
			  struct choice *best)
{
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct cnnrt_program *p = NULL;
	const struct cores_network *n;
	struct cnnrt_error err;
	char *why = NULL;
	int ret = cores_network(r, v->format, &n, &why) ?:
		  cores_compile(r, n, v->half, NULL, &p, &why);

	free(why);
	if (!ret && p)
		ret = checked(cnnrt_program_estimate(p, &est, &err), &err);
	if (!ret && p && (!best->p || est.ns < best->ns)) {
		cnnrt_program_free(best->p);
		*best = (struct choice){ p, v, est.ns };
	} else {
		cnnrt_program_free(p);
	}
	return ret;
}

/* The variant that ends soonest with all cores, of those that are accurate enough on some core. */
static int run_everywhere(struct cores_report *r)
{
	struct choice best = { 0 };
	struct cores_row *row;
	int ret = EXIT_DONE;

	for (unsigned int i = 0; i < r->rows && !ret; i++)
		if (qualifies(&r->row[i]) && !is_known(r, i))
			ret = try_everywhere(r, r->row[i].variant, &best);
	if (!ret && best.p) {
		row = add_row(r, NULL, best.variant);
		ret = row ? fill_row(r, best.p, row) : EXIT_FAILED;
	}
	cnnrt_program_free(best.p);
	return ret;
}

static void free_rows(struct cores_report *r)
{
	for (unsigned int i = 0; i < r->rows; i++) {
		struct cores_row *row = &r->row[i];

		for (unsigned int k = 0; k < row->reason_count; k++) {
			free(row->reasons[k].op);
			free(row->reasons[k].name);
			free(row->reasons[k].why);
		}
		free(row->reasons);
		free(row->why);
	}
}

static void close_report(struct cores_report *r)
{
	free_rows(r);
	cores_free_networks(r);
	cnn_tensor_release(&r->calibration);
	cnn_tensor_release(&r->test);
	cnn_tensor_release(&r->labels);
	cnn_tensor_release(&r->answers);
	cnnrt_context_destroy(r->ctx);
	cnnrt_device_close(r->dev);
	free(r);
}

static int show(const struct cores_report *r)
{
	int ret = EXIT_DONE;

	if (r->o->print_report)
		cores_print(r);
	for (int kind = 0; kind < REPORT_KINDS && !ret; kind++)
		if (r->o->report[kind])
			ret = cores_write(r, r->o->report[kind]);
	return ret;
}

int report_cores(const struct run_options *o)
{
	struct cores_report *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return complain(EXIT_FAILED, "out of memory");
	r->o = o;
	ret = energy_read(o->energy, &r->energy) ?: cores_read_samples(r) ?: open_cores(r) ?:
	      read_device(r) ?: cores_answer_floats(r) ?: run_cores(r);
	if (!ret) {
		mark_best(r);
		ret = run_everywhere(r);
	}
	clear_progress();
	if (!ret)
		ret = show(r);
	close_report(r);
	return ret;
}
