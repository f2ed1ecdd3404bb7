/* SPDX-License-Identifier: MIT */
/* Costs from measurements: least squares of relative errors, no rate below 0. */
#include "calibrate.h"

#define RATES		3
#define SWEEPS		1000
#define TIE		1e-4	/* weight of the proportions of the rates given */
#define FS_PER_NS	1e6
#define NS_PER_S	1e9

static void get(const struct cnn_cost_rate *r, double out[RATES])
{
	out[0] = (double)r->step;
	out[1] = (double)r->element;
	out[2] = (double)r->byte;
}

static int64_t bounded(double v, int64_t least)
{
	if (!(v > (double)least))
		return least;
	return v < (double)CNN_TARGET_NUMBER_MAX ? (int64_t)(v + 0.5) : CNN_TARGET_NUMBER_MAX;
}

/* Shares of a sample's time that the rates given account for. */
static void shares(const struct rt_sample *s, int64_t op_ns, const double rate[RATES],
		   double out[RATES])
{
	double fs = (s->ns - (double)op_ns) * FS_PER_NS;

	get(&s->count, out);
	for (int k = 0; k < RATES; k++)
		out[k] *= rate[k] / (fs > FS_PER_NS ? fs : FS_PER_NS);
}

/* The one factor of all rates that fits best. */
static double common_factor(double (*a)[RATES], int n)
{
	double sum = 0, squares = 0;

	for (int i = 0; i < n; i++) {
		double p = a[i][0] + a[i][1] + a[i][2];

		sum += p;
		squares += p * p;
	}
	return squares > 0 ? sum / squares : 1;
}

/* The factor of rate k that fits best if the others stay. */
static double best_factor(double (*a)[RATES], int n, const double x[RATES], int k, double common)
{
	double sum = TIE / common, squares = TIE / (common * common);

	for (int i = 0; i < n; i++) {
		double rest = 1;

		for (int j = 0; j < RATES; j++)
			rest -= j == k ? 0 : a[i][j] * x[j];
		sum += a[i][k] * rest;
		squares += a[i][k] * a[i][k];
	}
	return sum > 0 ? sum / squares : 0;
}

void rt_fit_rates(const struct rt_sample *samples, int n, int64_t op_ns,
		  struct cnn_cost_rate *rate)
{
	double a[RT_SAMPLES_MAX][RATES], x[RATES], from[RATES], common;

	get(rate, from);
	for (int i = 0; i < n; i++)
		shares(&samples[i], op_ns, from, a[i]);
	common = common_factor(a, n);
	for (int k = 0; k < RATES; k++)
		x[k] = common;
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (int k = 0; k < RATES; k++)
			x[k] = best_factor(a, n, x, k, common);
	rate->step = bounded(x[0] * from[0], 0);
	rate->element = bounded(x[1] * from[1], 0);
	rate->byte = bounded(x[2] * from[2], 0);
}

void rt_fit_core(const struct rt_core_sample *small, const struct rt_core_sample *large,
		 int64_t *hz, int64_t *submit_ns)
{
	double cycles = (double)large->cycles - (double)small->cycles, ns = large->ns - small->ns;
	double per_cycle = cycles > 0 && ns > 0 ? ns / cycles : large->ns / (double)large->cycles;

	*hz = bounded(NS_PER_S / per_cycle, 1);
	*submit_ns = bounded(small->ns - per_cycle * (double)small->cycles, 0);
}
