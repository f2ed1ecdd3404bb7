/* SPDX-License-Identifier: MIT */
/* What cnnrun is asked to do. */
#include "cnnrun.h"
#include "report.h"

#include <string.h>

const char run_usage[] =
"usage: cnnrun MODEL [OPTION...]\n"
"       cnnrun --compile MODEL -o FILE.cnn [--device-caps FILE] [OPTION...]\n"
"       cnnrun --node-test DIR... [--device D] [--core NAME]\n"
"\n"
"MODEL is an ONNX or TensorFlow Lite file, or what --compile made of one.\n"
"  --input NAME=FILE   input by name or index; FILE is .npy, ONNX .pb, PNG, JPEG or\n"
"                      PNM; inputs that are not given are zero\n"
"  --output NAME=FILE  where to write an output: .pb, else as .npy\n"
"  --shape NAME=N,N,.. size of an input's free dimensions, without it they are those of\n"
"                      the file, or 1\n"
"  --device D          /dev/accel/accelN, or sim[:PROPS] for a device in the process;\n"
"                      default: $CNNRT_DEVICE, or the first accelerator\n"
"  --load-module       load cnnacc.ko if needed\n"
"  --core NAME         everything this core can run must run there; \"cpu\": nothing on\n"
"                      the device\n"
"  --explain           where each operator runs, and why, and what became of the others\n"
"  --report [FILE]     what each layer takes: cycles, use of the MAC units, bytes, and\n"
"                      what bounds it; FILE.html: a page with roofline and time line,\n"
"                      FILE.svg: these alone, FILE.json: for programs\n"
"  --profile FILE      the time line as JSON (trace events: Perfetto shows it)\n"
"  --repeat N          run N times, print the times, and check that the answers agree\n"
"  -o FILE             what --compile writes\n"
"  --device-caps FILE  compile for the device that cnnctl info --caps wrote down\n"
"  --compare           run every layer on the device and on the CPU and name the first\n"
"                      element that differs by more than --rtol R (default 1e-4) times\n"
"                      its value plus --atol A (1e-5) times the layer's largest value,\n"
"                      at least 1; with --compile: make a file that can be compared\n"
"  --labels FILE       a name per line for each class\n"
"\n"
"Pictures: resized bilinearly to the input's height and width, RGB or grey as it has\n"
"channels; value = (pixel * scale - mean) / std.\n"
"  --fit stretch|crop|pad   ignore the aspect (default), cut the middle out, or keep it all\n"
"                           in the upper left corner with zeros behind\n"
"  --scale S                of a pixel 0..255; default 1/255\n"
"  --mean M[,M,M] --std S[,S,S]   default 0 and 1; in the order of the channels\n"
"  --bgr                    blue first\n"
"\n"
"--node-test runs ONNX test cases (model.onnx, test_data_set_N/{input,output}_M.pb).\n"
"Exit status: 0 done, 1 failed, 2 usage, 3 no device.\n";

static bool named(struct named_file *files, unsigned int *count, char *value)
{
	char *mark = strchr(value, '=');

	if (!mark || mark == value || *count == MAX_FILES)
		return false;
	*mark = '\0';
	files[(*count)++] = (struct named_file){ value, mark + 1 };
	return true;
}

static bool set_fit(struct run_options *o, const char *value)
{
	static const char *const names[] = { "stretch", "crop", "pad" };

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(value, names[i])) {
			o->picture.fit = i;
			return true;
		}
	}
	return false;
}

static bool set_repeat(struct run_options *o, const char *value)
{
	uint64_t n;

	if (!parse_u64(value, &n) || !n || n > 1000000)
		return false;
	o->repeat = (unsigned int)n;
	return true;
}

static bool set_bound(double *bound, const char *value)
{
	float v[3];

	if (strchr(value, ',') || !parse_floats(value, v) || !(v[0] > 0))
		return false;
	*bound = (double)v[0];
	return true;
}

static bool set_scale(struct run_options *o, const char *value)
{
	float v[3];

	if (strchr(value, ',') || !parse_floats(value, v))
		return false;
	o->picture.scale = v[0];
	return true;
}

static bool set_std(struct run_options *o, const char *value)
{
	return parse_floats(value, o->picture.std) && o->picture.std[0] != 0 &&
	       o->picture.std[1] != 0 && o->picture.std[2] != 0;
}

/* The file is optional, so that only a name of its kind is one. */
static int set_report(struct run_options *o, const char *value)
{
	if (!value || !report_is_file(value)) {
		o->print_report = true;
		return 0;
	}
	if (o->report)
		return -3;
	o->report = value;
	return 1;
}

/* 1: took the value too; 0: a flag; -1: bad value; -2: unknown; -3: one value too many. */
static int option(struct run_options *o, const char *name, char *value)
{
	static const char *const flags[] = {
		"--explain", "--bgr", "--load-module", "--node-test", "--compile", "--compare",
	};
	bool *const set[] = {
		&o->explain, &o->picture.bgr, &o->load_module, &o->node_test, &o->compile,
		&o->compare,
	};
	const struct {
		const char *name, **text;
	} texts[] = {
		{ "--device", &o->device }, { "--core", &o->core },
		{ "--profile", &o->profile }, { "--labels", &o->labels },
		{ "-o", &o->out }, { "--device-caps", &o->caps },
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!strcmp(name, flags[i])) {
			*set[i] = true;
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!strcmp(name, texts[i].name)) {
			*texts[i].text = value;
			return value ? 1 : -1;
		}
	}
	if (!strcmp(name, "--report"))
		return set_report(o, value);
	if (!strcmp(name, "--input"))
		return value && named(o->input, &o->inputs, value) ? 1 : -1;
	if (!strcmp(name, "--output"))
		return value && named(o->output, &o->outputs, value) ? 1 : -1;
	if (!strcmp(name, "--shape"))
		return value && named(o->shape, &o->shapes, value) ? 1 : -1;
	if (!strcmp(name, "--repeat"))
		return value && set_repeat(o, value) ? 1 : -1;
	if (!strcmp(name, "--atol"))
		return value && set_bound(&o->atol, value) ? 1 : -1;
	if (!strcmp(name, "--rtol"))
		return value && set_bound(&o->rtol, value) ? 1 : -1;
	if (!strcmp(name, "--fit"))
		return value && set_fit(o, value) ? 1 : -1;
	if (!strcmp(name, "--scale"))
		return value && set_scale(o, value) ? 1 : -1;
	if (!strcmp(name, "--mean"))
		return value && parse_floats(value, o->picture.mean) ? 1 : -1;
	if (!strcmp(name, "--std"))
		return value && set_std(o, value) ? 1 : -1;
	return -2;
}

enum mode { RUN, COMPARE, COMPILE, NODE_TEST, MODES };

static const char *const mode_names[MODES] = {
	"a plain run", "--compare", "--compile", "--node-test",
};

#define ALL		((1u << MODES) - 1)
#define NETWORK		(1u << RUN | 1u << COMPARE | 1u << COMPILE)
#define MANY		(1u << MODES)	/* it may be given many times */

static const struct {
	const char *name;
	unsigned int modes;
} uses[] = {
	{ "--node-test", 1u << NODE_TEST }, { "--compile", 1u << COMPILE },
	{ "--compare", 1u << COMPARE | 1u << COMPILE }, { "-o", 1u << COMPILE },
	{ "--device-caps", 1u << COMPILE }, { "--device", ALL }, { "--load-module", ALL },
	{ "--core", ALL }, { "--explain", NETWORK }, { "--input", NETWORK | MANY },
	{ "--shape", NETWORK | MANY }, { "--output", 1u << RUN | MANY }, { "--labels", 1u << RUN },
	{ "--report", 1u << RUN | MANY }, { "--profile", 1u << RUN }, { "--repeat", 1u << RUN },
	{ "--atol", 1u << COMPARE }, { "--rtol", 1u << COMPARE }, { "--fit", NETWORK },
	{ "--scale", NETWORK }, { "--mean", NETWORK }, { "--std", NETWORK }, { "--bgr", NETWORK },
};

static enum mode mode_of(const struct run_options *o)
{
	return o->node_test ? NODE_TEST : o->compile ? COMPILE : o->compare ? COMPARE : RUN;
}

/* given: a bit for each of uses. */
static int check_uses(const struct run_options *o, uint32_t given)
{
	enum mode mode = mode_of(o);

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		if (given & 1u << i && !(uses[i].modes & 1u << mode))
			return complain(EXIT_USAGE, "%s is for %s, not for %s", uses[i].name,
					mode_names[__builtin_ctz(uses[i].modes)], mode_names[mode]);
	return EXIT_DONE;
}

static int check_options(const struct run_options *o, uint32_t given)
{
	if (o->node_test && !o->dir_count)
		return complain(EXIT_USAGE, "--node-test: no directory is given");
	if (!o->dir_count)
		return complain(EXIT_USAGE, "no MODEL is given; cnnrun --help tells more");
	if (!o->node_test && o->dir_count > 1)
		return complain(EXIT_USAGE, "one MODEL is run: there is \"%s\" and \"%s\"%s",
				o->dirs[0], o->dirs[1], o->print_report ? " (a report is written to "
				"FILE.html, .svg or .json)" : "");
	if (o->compile != (o->out != NULL))
		return complain(EXIT_USAGE, "--compile and -o FILE go together");
	if (o->caps && o->device)
		return complain(EXIT_USAGE, "--device-caps is in place of --device");
	return check_uses(o, given);
}

/* Notes the use of an option; false if it was there before. */
static bool note_use(const char *name, uint32_t *given)
{
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		uint32_t bit = 1u << i;

		if (strcmp(name, uses[i].name))
			continue;
		if (*given & bit && !(uses[i].modes & MANY))
			return false;
		*given |= bit;
	}
	return true;
}

int parse_options(int argc, char **argv, struct run_options *o)
{
	uint32_t given = 0;

	for (int i = 1; i < argc; i++) {
		int took = option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);

		if (took == -3 || (took >= 0 && !note_use(argv[i], &given)))
			return complain(EXIT_USAGE, "%s is given twice", argv[i]);
		if (took >= 0) {
			i += took;
			continue;
		}
		if (took == -1)
			return complain(EXIT_USAGE, "%s: missing or bad value", argv[i]);
		if (argv[i][0] == '-' && argv[i][1])
			return complain(EXIT_USAGE, "unknown option %s", argv[i]);
		o->dirs[o->dir_count++] = argv[i];
	}
	o->model = o->dirs[0];
	return check_options(o, given);
}
