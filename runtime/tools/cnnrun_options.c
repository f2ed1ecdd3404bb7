/* SPDX-License-Identifier: MIT */
/* The options of cnnrun. */
#include "cnnrun.h"
#include "options.h"

#include <string.h>

#define MAX_REPEAT	1000000

static int add_named(void *field, char *value)
{
	struct named_files *files = field;
	char *mark = strchr(value, '=');

	if (!mark || mark == value)
		return OPT_BAD_VALUE;
	if (files->count == MAX_FILES)
		return complain(EXIT_USAGE, "more than %d of one option: %s", MAX_FILES, value);
	*mark = '\0';
	files->at[files->count++] = (struct named_file){ value, mark + 1 };
	return EXIT_DONE;
}

static int set_fit(void *fit, char *value)
{
	static const char *const names[] = { "stretch", "crop", "pad" };

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(value, names[i])) {
			*(enum picture_fit *)fit = i;
			return EXIT_DONE;
		}
	}
	return OPT_BAD_VALUE;
}

static int set_prefer(void *prefer, char *value)
{
	if (strcmp(value, "device") && strcmp(value, "time"))
		return OPT_BAD_VALUE;
	*(enum cnnrt_prefer *)prefer = *value == 't' ? CNNRT_PREFER_TIME : CNNRT_PREFER_DEVICE;
	return EXIT_DONE;
}

static int set_precision(void *precision, char *value)
{
	if (strcmp(value, "fp32") && strcmp(value, "fp16"))
		return OPT_BAD_VALUE;
	*(enum cnnrt_precision *)precision =
		strcmp(value, "fp16") ? CNNRT_PRECISION_FP32 : CNNRT_PRECISION_FP16;
	return EXIT_DONE;
}

static bool parse_float(const char *text, float v[3])
{
	return !strchr(text, ',') && parse_floats(text, v);
}

static int set_bound(void *bound, char *value)
{
	float v[3];

	if (!parse_float(value, v) || !(v[0] > 0))
		return OPT_BAD_VALUE;
	*(double *)bound = (double)v[0];
	return EXIT_DONE;
}

static int set_scale(void *scale, char *value)
{
	float v[3];

	if (!parse_float(value, v))
		return OPT_BAD_VALUE;
	*(float *)scale = v[0];
	return EXIT_DONE;
}

static int set_mean(void *mean, char *value)
{
	return parse_floats(value, mean) ? EXIT_DONE : OPT_BAD_VALUE;
}

static int set_std(void *field, char *value)
{
	float *std = field;

	return parse_floats(value, std) && std[0] != 0 && std[1] != 0 && std[2] != 0 ? EXIT_DONE :
										OPT_BAD_VALUE;
}

static bool is_report_file(const char *name)
{
	return report_kind_of(name) >= 0;
}

static int set_report(void *request, char *value)
{
	struct run_options *o = request;
	int kind;

	if (!value) {
		o->print_report = true;
		return EXIT_DONE;
	}
	kind = report_kind_of(value);
	if (kind < 0)
		return OPT_BAD_VALUE;
	if (o->report[kind])
		return complain(EXIT_USAGE, "--report is given twice with a file of one kind: %s and "
				"%s", o->report[kind], value);
	o->report[kind] = value;
	return EXIT_DONE;
}

enum mode { RUN, COMPARE, COMPILE, NODE_TEST, CORES, MODES };

static const char *const mode_names[MODES] = {
	"a plain run", "--compare", "--compile", "--node-test", "--report --core all",
};

/* In opt_spec.flags: the modes that an option is for. */
#define ON_RUN		(1u << RUN)
#define ON_COMPARE	(1u << COMPARE)
#define ON_COMPILE	(1u << COMPILE)
#define ON_NODE_TEST	(1u << NODE_TEST)
#define ON_CORES	(1u << CORES)
#define ON_NETWORK	(ON_RUN | ON_COMPARE | ON_COMPILE)
#define ON_ALL		(ON_NETWORK | ON_NODE_TEST)

#define FIELD(member)	.field = offsetof(struct run_options, member)

static const struct opt_spec options[] = {
	{ .name = "input", .arg = "NAME=FILE", FIELD(input), .set = add_named,
	  .flags = ON_NETWORK | OPT_MANY,
	  .text = "input by name or index; FILE is .npy, ONNX .pb, PNG, JPEG or PNM; an input that "
		  "is not given is zero" },
	{ .name = "output", .arg = "NAME=FILE", FIELD(output), .set = add_named,
	  .flags = ON_RUN | OPT_MANY,
	  .text = "write an output to FILE: as ONNX tensor if it ends in .pb, else as .npy" },
	{ .name = "shape", .arg = "NAME=N,N,..", FIELD(shape), .set = add_named,
	  .flags = ON_NETWORK | ON_CORES | OPT_MANY,
	  .text = "size of an input whose dimensions are free; default: those of the input's file or "
		  "of one of --samples, or 1" },
	{ .name = "device", .arg = OPT_DEVICE_ARG, .kind = OPT_TEXT, FIELD(device), .flags = ON_ALL | ON_CORES,
	  .text = OPT_DEVICE_TEXT },
	{ .name = "load-module", .kind = OPT_FLAG, FIELD(load_module), .flags = ON_ALL | ON_CORES,
	  .text = "load cnnacc.ko if needed" },
	{ .name = "core", .arg = OPT_CORE_ARG, .kind = OPT_TEXT, FIELD(core), .flags = ON_ALL | ON_CORES,
	  .text = "run every operator that this core can run there: all cores called NAME, or the "
		  "one that cnnctl info prints as NAME.INDEX; \"cpu\": run nothing on the device; with "
		  "--report \"all\": compare the cores" },
	{ .name = "prefer", .arg = "WHAT", FIELD(prefer), .set = set_prefer, .flags = ON_ALL,
	  .valid = "device or time",
	  .text = "device: the CPU runs an operator only if no core can, or all cores take more than "
		  "twice its time (default); time: every operator runs where the network ends "
		  "soonest" },
	{ .name = "precision", .arg = "WHAT", FIELD(precision), .set = set_precision,
	  .flags = ON_ALL, .valid = "fp32 or fp16",
	  .text = "fp32: a core computes float32 operators in float32 (default); fp16: cores that "
		  "have float16 compute them with values and weights rounded to float16; an error "
		  "if there is none" },
	{ .name = "target", .arg = "FILE", .kind = OPT_TEXT, FIELD(target), .flags = ON_ALL | ON_CORES,
	  .text = "costs of the machine that runs the network, as cnnctl calibrate writes them; "
		  "default: of a reference CPU, an Arm Cortex-A53" },
	{ .name = "explain", .kind = OPT_FLAG, FIELD(explain), .flags = ON_NETWORK,
	  .text = "print where each operator runs and why, what it costs there and in the next best "
		  "place, and what became of the operators that are not run" },
	{ .name = "report", .arg = "[FILE]", .set = set_report, .takes = is_report_file,
	  .flags = ON_RUN | ON_CORES | OPT_MANY, .valid = "a file name that ends in .html, .json or .svg",
	  .text = "print cycles, MAC utilisation, bytes moved and the bottleneck of each layer; "
		  "FILE.html: a page with roofline and time line, FILE.svg: only these two, "
		  "FILE.json: all figures for programs; may be given once for each of them" },
	{ .name = "samples", .arg = "FILE.npy", .kind = OPT_TEXT, FIELD(samples), .flags = ON_CORES,
	  .text = "inputs along the first axis, float32: every second one calibrates the quantised "
		  "networks of --core all, the others measure their accuracy" },
	{ .name = "classes", .arg = "FILE.npy", .kind = OPT_TEXT, FIELD(classes), .flags = ON_CORES,
	  .text = "index of the right largest element for each of --samples, from 0; default: where "
		  "the float network has it" },
	{ .name = "energy", .arg = "FILE", .kind = OPT_TEXT, FIELD(energy), .flags = ON_CORES,
	  .text = "pJ of operations and bytes as lines of key=value: mac.FP32 and the like, memory, "
		  "cpu, sram.BYTES; default: of a published table for 45 nm" },
	{ .name = "profile", .arg = "FILE", .kind = OPT_TEXT, FIELD(profile), .flags = ON_RUN,
	  .text = "write the time line as JSON trace events, which Perfetto shows" },
	{ .name = "repeat", .arg = "N", .kind = OPT_NUMBER, FIELD(repeat), .min = 1,
	  .max = MAX_REPEAT, .flags = ON_RUN,
	  .text = "run N times, print the times, and check that the outputs are the same" },
	{ .name = "batch", .kind = OPT_FLAG, FIELD(batch), .flags = ON_RUN,
	  .text = "dimension 0 of every input counts images: compile the network for one, run each "
		  "in a job of its own on any of the equal cores, and join the outputs along "
		  "dimension 0; --report and --profile are of the last image" },
	{ .name = "labels", .arg = "FILE", .kind = OPT_TEXT, FIELD(labels), .flags = ON_RUN,
	  .text = "names of the classes, one per line" },
	{ .name = "compile", .kind = OPT_FLAG, FIELD(compile), .flags = ON_COMPILE,
	  .text = "write the compiled network to the file of -o instead of running it" },
	{ .letter = 'o', .arg = "FILE", .kind = OPT_TEXT, FIELD(out), .flags = ON_COMPILE,
	  .text = "file that --compile writes" },
	{ .name = "device-caps", .arg = "FILE", .kind = OPT_TEXT, FIELD(caps), .flags = ON_COMPILE,
	  .text = "compile for the device that cnnctl info --caps FILE described" },
	{ .name = "compare", .kind = OPT_FLAG, FIELD(compare), .flags = ON_COMPARE | ON_COMPILE,
	  .text = "run every layer on the device and on the CPU and print the first element that "
		  "differs by more than R * |value| + A * the layer's largest |value|, at least 1; "
		  "with --compile: write a file that can be compared" },
	{ .name = "rtol", .arg = "R", FIELD(rtol), .set = set_bound, .flags = ON_COMPARE,
	  .valid = "a number above 0", .text = "relative tolerance of --compare; default 1e-4" },
	{ .name = "atol", .arg = "A", FIELD(atol), .set = set_bound, .flags = ON_COMPARE,
	  .valid = "a number above 0", .text = "absolute tolerance of --compare; default 1e-5" },
	{ .name = "node-test", .kind = OPT_FLAG, FIELD(node_test), .flags = ON_NODE_TEST,
	  .text = "run ONNX test cases: directories with model.onnx and "
		  "test_data_set_N/{input,output}_M.pb" },
	{ .name = "fit", .arg = "HOW", FIELD(picture.fit), .set = set_fit, .flags = ON_NETWORK,
	  .valid = "stretch, crop or pad",
	  .text = "how a picture is resized to the input's height and width: stretch ignores the "
		  "aspect (default), crop cuts the middle out, pad keeps it all in the upper left "
		  "corner and fills the rest with zeros" },
	{ .name = "scale", .arg = "S", FIELD(picture.scale), .set = set_scale,
	  .flags = ON_NETWORK, .valid = "a number",
	  .text = "factor of a picture's pixels, which are 0 to 255; default 1/255" },
	{ .name = "mean", .arg = "M[,M,M]", FIELD(picture.mean), .set = set_mean, .flags = ON_NETWORK,
	  .valid = "a number or three, in the order of the channels",
	  .text = "subtracted from a scaled pixel; default 0" },
	{ .name = "std", .arg = "S[,S,S]", FIELD(picture.std), .set = set_std, .flags = ON_NETWORK,
	  .valid = "a number or three, in the order of the channels, none of them 0",
	  .text = "divides what is left: value = (pixel * scale - mean) / std; default 1" },
	{ .name = "bgr", .kind = OPT_FLAG, FIELD(picture.bgr), .flags = ON_NETWORK,
	  .text = "put a picture's blue channel first" },
};

static int add_operand(void *request, char *text)
{
	struct run_options *o = request;

	o->dirs[o->dir_count++] = text;
	return EXIT_DONE;
}

static const struct opt_command command = {
	.usage = {
		"MODEL [OPTION...]",
		"--compile MODEL -o FILE.cnn [--device-caps FILE] [OPTION...]",
		"--node-test DIR... [--device D] [--core NAME[.INDEX]]",
		"MODEL --report [FILE] --core all [--samples FILE] [OPTION...]",
	},
	.intro = "Runs a network on an accelerator. MODEL is an ONNX or TensorFlow Lite file, or what "
		 "--compile made of one.",
	.notes = "Pictures are resized bilinearly; they become RGB or grey, as the input has "
		 "channels.\n\n" OPT_EXIT_STATUS,
	.options = options, .count = ARRAY_SIZE(options), .operand = add_operand,
};

bool wants_report(const struct run_options *o)
{
	bool wanted = o->print_report;

	for (int kind = 0; kind < REPORT_KINDS; kind++)
		wanted |= o->report[kind] != NULL;
	return wanted;
}

bool compares_cores(const struct run_options *o)
{
	return o->core && !strcmp(o->core, "all") && wants_report(o) && !o->node_test &&
	       !o->compile && !o->compare;
}

static enum mode mode_of(const struct run_options *o)
{
	return o->node_test ? NODE_TEST : o->compile ? COMPILE : o->compare ? COMPARE :
	       compares_cores(o) ? CORES : RUN;
}

/* given: a bit for each of options. */
static int check_modes(const struct run_options *o, uint64_t given)
{
	enum mode mode = mode_of(o);
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (given & 1ull << i && !(options[i].flags & 1u << mode))
			return complain(EXIT_USAGE, "%s is for %s, not for %s",
					opt_name(&options[i], name),
					mode_names[__builtin_ctz(options[i].flags)],
					mode_names[mode]);
	return EXIT_DONE;
}

static int check_options(const struct run_options *o, uint64_t given)
{
	if (o->node_test && !o->dir_count)
		return complain(EXIT_USAGE, "--node-test: no directory is given; try cnnrun --help");
	if (!o->dir_count)
		return complain(EXIT_USAGE, "no MODEL is given; try cnnrun --help");
	if (!o->node_test && o->dir_count > 1)
		return complain(EXIT_USAGE, "one MODEL is run: there is \"%s\" and \"%s\"%s",
				o->dirs[0], o->dirs[1], o->print_report ? " (a report is written to "
				"FILE.html, .svg or .json)" : "");
	if (o->compile != (o->out != NULL))
		return complain(EXIT_USAGE, "--compile and -o FILE go together");
	if (o->caps && o->device)
		return complain(EXIT_USAGE, "--device-caps is in place of --device");
	if (o->classes && !o->samples)
		return complain(EXIT_USAGE, "--classes is for --samples, which is not given");
	return check_modes(o, given);
}

int parse_options(int argc, char **argv, struct run_options *o)
{
	uint64_t given;
	int ret = opt_parse(&command, argc, argv, o, &given);

	o->model = o->dirs[0];
	return ret ? ret : check_options(o, given);
}
