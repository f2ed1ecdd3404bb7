/* SPDX-License-Identifier: MIT */
/*
 * libcnnrt: run convolutional networks on a cnnacc accelerator.
 *
 *	device -> context -> buffers, jobs        model -> program -> jobs
 *
 * Errors: a function that can fail returns CNNRT_OK or a negative enum cnnrt_code and fills
 * the struct cnnrt_error it was given (NULL: not wanted) with the same code and one line of
 * text that names the operator, parameter or device and the limit.  On failure nothing is
 * created and no out parameter is written.
 *
 * Ownership: the caller frees what it creates.  A device must outlive its contexts, a context its
 * buffers and jobs, a program its jobs, a model only the cnnrt_compile() call.  *_free(NULL),
 * *_close(NULL) and *_destroy(NULL) do nothing.
 *
 * Threads: the only global state is a count of fork() calls and the list of the idle jobs that
 * cnnrt_run() keeps.  Devices, contexts and programs may
 * be used by many threads at once; a model, a buffer or a job by one thread at a time.  Closing,
 * destroying and freeing need the object to be unused by every other thread.
 *
 * Processes: after fork() the objects stay the parent's.  In the child, functions that would use
 * the device fail and those that free do nothing; it opens the device anew.  Models and programs
 * are only memory: the child may use and free its copies.  Children made by _Fork() or clone()
 * must not call the library, which is not told of them.
 *
 * Versions: a later version of the library may append fields to a struct whose first field is
 * struct_size; programs and libraries of different versions work together.  The caller sets
 * struct_size of each struct that it passes, and every field that it does not use to zero:
 *
 *	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
 *	struct cnnrt_compile_options options = { .struct_size = sizeof(options), .core = "NAME" };
 *
 * The library reads and writes at most struct_size bytes.  Fields that only the caller's version
 * has must be zero on input (else CNNRT_EINVAL) and are zero on output.  A struct_size below that
 * of the first version is CNNRT_EINVAL; the text names the struct.  In a struct that the library
 * passes to a callback, the library sets struct_size; a later field is there if it lies within.
 * struct cnnrt_error and struct cnnrt_span do not change; struct cnnrt_cost gets fields only when
 * struct cnnrt_op_report does; cnnrt_exec.range_size is the distance of the ranges of an array.
 *
 * Fences are file descriptors that poll() readable (POLLIN) when the job has ended, well or
 * badly: a sync_file on a kernel device (usable with every other DRM driver), an eventfd on
 * the in-process device and where the CPU does the last step.  Never read() them.
 */
#ifndef CNNRT_H
#define CNNRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** enum cnnrt_code - what a function returns. */
enum cnnrt_code {
	CNNRT_OK = 0,
	CNNRT_EINVAL = -1,	/* a wrong argument, or a file that is not what it should be */
	CNNRT_EUNSUPPORTED = -2,	/* an operator, attribute or type is not implemented */
	CNNRT_ELIMIT = -3,	/* beyond a size or work limit */
	CNNRT_ENOMEM = -4,
	CNNRT_EFILE = -5,	/* a file cannot be read */
	CNNRT_ENODEV = -6,	/* there is no such accelerator */
	CNNRT_ENODRIVER = -7,	/* cnnacc.ko is not loaded, or not bound to the device */
	CNNRT_EACCES = -8,	/* this user may not use it in that way */
	CNNRT_EGONE = -9,	/* the device was removed */
	CNNRT_ETIMEDOUT = -10,	/* the wait timed out; the job still runs */
	CNNRT_EJOB = -11,	/* the job failed: cnnrt_job_status() says where */
	CNNRT_ECANCELED = -12,	/* the job was stopped for a reason that is not its own */
	CNNRT_EBUSY = -13,	/* the job is still running */
	CNNRT_ESYSTEM = -14,	/* a system call failed; the text says which */
};

#define CNNRT_ERROR_TEXT	320

/** struct cnnrt_error - why a call failed; owned by the caller. */
struct cnnrt_error {
	int code;
	char text[CNNRT_ERROR_TEXT];
};

/* ---- library --------------------------------------------------------------------------- */

/** cnnrt_version() - "major.minor.patch" of the library; static. */
const char *cnnrt_version(void);

/** cnnrt_strerror() - a short text for a code; static, never NULL. */
const char *cnnrt_strerror(int code);

/* ---- devices --------------------------------------------------------------------------- */

#define CNNRT_MAX_CORES	8

/** struct cnnrt_core_info - one core of a device. */
struct cnnrt_core_info {
	size_t struct_size;
	uint32_t type;		/* enum cnnacc_core_type of cnnacc_hw.h */
	uint32_t version;	/* 31:16 major, 15:0 minor */
	char name[8];		/* of the design, as cnnrt_compile_options.core takes it */
	uint32_t window_offset, window_size, queue_offset;	/* for cnnrt_device_reg_read() */
	uint32_t program_max;	/* bytes of the largest program */
	uint64_t job_cycles_max;	/* largest cycle limit of one program */
	uint32_t param[16];	/* build parameters, CNNACC_NAME_PARAM_* of cnnacc_NAME.h */
};

/** struct cnnrt_device_info - a device. */
struct cnnrt_device_info {
	size_t struct_size;
	char path[128];		/* "/dev/accel/accel0", "sim" */
	char driver[32];	/* "cnnacc", "in-process" */
	char bus[64];		/* "0000:00:04.0", "" if unknown */
	uint32_t hw_version;	/* 31:16 major, 15:0 minor */
	uint32_t features;	/* CNNACC_FEATURE_* */
	uint32_t clock_hz;	/* of the cores, now */
	uint32_t core_count;
	uint64_t reset_count;
	uint64_t max_buffer;	/* bytes of one buffer */
	uint64_t target_hash;	/* of the costs for which networks are compiled by default */
	uint64_t device_ns;	/* device time */
	uint64_t cpu_ns;	/* CLOCK_MONOTONIC at that moment; 0 for a description */
};

/** struct cnnrt_found - what cnnrt_device_enumerate() reports; valid during the callback. */
struct cnnrt_found {
	size_t struct_size;
	const char *path;	/* node to open; "" if there is none */
	const char *bus;	/* bus address */
	int state;		/* CNNRT_OK usable, CNNRT_ENODRIVER or CNNRT_EACCES */
	const char *remedy;	/* what to do about it; "" if usable */
};

/**
 * cnnrt_device_enumerate() - list the accelerators of this machine, usable or not.
 * @found: called once for each; a return value other than 0 ends the walk
 *
 * Return: number of accelerators reported, or an error.  None is not an error.
 */
int cnnrt_device_enumerate(int (*found)(const struct cnnrt_found *f, void *opaque),
			   void *opaque, struct cnnrt_error *err);

#define CNNRT_OPEN_LOAD_MODULE	0x1u	/* load cnnacc.ko if needed and allowed */

struct cnnrt_device;

/**
 * cnnrt_device_open() - open an accelerator.
 * @name: path of a device node; "sim" or "sim:PROPS" for a device inside this process, with
 *	PROPS like the QEMU device's ("sim:cores=NAME:PARAM=64,clock-hz=200000000"); "caps:FILE"
 *	for a device that cnnrt_device_save_caps() described, to compile for only; NULL for
 *	$CNNRT_DEVICE, or without it the first usable accelerator of the machine
 * @flags: CNNRT_OPEN_*; $CNNRT_LOAD_MODULE=1 is the same as CNNRT_OPEN_LOAD_MODULE
 *
 * Return: CNNRT_OK; CNNRT_ENODEV, CNNRT_ENODRIVER or CNNRT_EACCES with the remedy in the
 * text; CNNRT_EINVAL for bad PROPS.
 */
int cnnrt_device_open(const char *name, unsigned int flags, struct cnnrt_device **dev,
		      struct cnnrt_error *err);
/** cnnrt_device_close() - its contexts must be destroyed. */
void cnnrt_device_close(struct cnnrt_device *dev);

/** cnnrt_device_info() - what was found at open; reset_count is fresh. */
int cnnrt_device_info(struct cnnrt_device *dev, struct cnnrt_device_info *info,
		      struct cnnrt_error *err);

/** cnnrt_device_core() - core @index, 0..core_count-1. */
int cnnrt_device_core(const struct cnnrt_device *dev, unsigned int index,
		      struct cnnrt_core_info *info, struct cnnrt_error *err);

/**
 * cnnrt_device_find_cores() - the cores that a user means.
 * @name: "NAME": all cores of that name; "NAME.INDEX": core INDEX of the device, which must have
 *	that name; "INDEX": core INDEX.  Indices count all cores of the device from 0.
 * @cores: receives a bit for each core
 *
 * Return: CNNRT_OK with at least one core, or CNNRT_EINVAL with the names that there are.
 */
int cnnrt_device_find_cores(const struct cnnrt_device *dev, const char *name, uint32_t *cores,
			    struct cnnrt_error *err);

/**
 * cnnrt_device_calibrate() - measure the costs of this machine, to compile for it.
 *
 * Measures operators on the CPU, copies, and small programs on each core, which takes some seconds
 * in which CPU and device should have nothing else to do.  The costs become those of @dev, for
 * cnnrt_compile() and cnnrt_device_save_caps(); no other thread may use @dev meanwhile.
 */
int cnnrt_device_calibrate(struct cnnrt_device *dev, struct cnnrt_error *err);

/**
 * cnnrt_device_save_caps() - write what compiling needs to know of the device to a text file: its
 * cores and limits, and the costs of the target.
 */
int cnnrt_device_save_caps(const struct cnnrt_device *dev, const char *path,
			   struct cnnrt_error *err);

/** cnnrt_device_fd() - the DRM file descriptor, owned by the device; -1 on the in-process one. */
int cnnrt_device_fd(const struct cnnrt_device *dev);

/**
 * cnnrt_device_reg_read() - read a register at an offset in the register file.
 *
 * Administrator only on a kernel device: CNNRT_EACCES otherwise.
 */
int cnnrt_device_reg_read(struct cnnrt_device *dev, uint32_t offset, uint32_t *value,
			  struct cnnrt_error *err);
/**
 * cnnrt_device_reg_write() - write one; the same rule.  The kernel's driver allows it for registers
 * without a use of its own or a side effect only (SCRATCH), else CNNRT_EACCES.  On an in-process
 * device it can upset running jobs.
 */
int cnnrt_device_reg_write(struct cnnrt_device *dev, uint32_t offset, uint32_t value,
			   struct cnnrt_error *err);

/**
 * cnnrt_device_selftest() - run small programs with known answers on every core.
 * @report: called for each test with "" or what went wrong
 *
 * Return: number of failed tests, or an error that kept them from running.
 */
int cnnrt_device_selftest(struct cnnrt_device *dev,
			  void (*report)(const char *test, const char *failure, void *opaque),
			  void *opaque, struct cnnrt_error *err);

/* ---- models ---------------------------------------------------------------------------- */

#define CNNRT_MAX_RANK	8

/** enum cnnrt_type - element types; the numbers of ONNX TensorProto.DataType. */
enum cnnrt_type {
	CNNRT_UNDEFINED = 0,
	CNNRT_FLOAT32 = 1,
	CNNRT_UINT8 = 2,
	CNNRT_INT8 = 3,
	CNNRT_UINT16 = 4,
	CNNRT_INT16 = 5,
	CNNRT_INT32 = 6,
	CNNRT_INT64 = 7,
	CNNRT_BOOL = 9,
	CNNRT_FLOAT16 = 10,
	CNNRT_FLOAT64 = 11,
	CNNRT_UINT32 = 12,
	CNNRT_UINT64 = 13,
	CNNRT_BFLOAT16 = 16,
};

enum cnnrt_direction {
	CNNRT_INPUT = 0,
	CNNRT_OUTPUT = 1,
};

/** struct cnnrt_tensor_info - an input or output; dense, row-major. */
struct cnnrt_tensor_info {
	size_t struct_size;
	const char *name;	/* owned by the object that was asked */
	enum cnnrt_type type;
	int rank;		/* -1: only known when a job has run */
	int64_t dims[CNNRT_MAX_RANK];	/* -1: free, see cnnrt_model_set_input_shape() */
	size_t size;		/* bytes; 0 while the shape is not known */
};

struct cnnrt_model;

/**
 * cnnrt_model_load() - read a network from an ONNX or TensorFlow Lite file.
 *
 * The weights of an ONNX file may be in other files (external data), which must be in its folder or
 * beneath it, also after symbolic links; they take at most 8 GiB.  They are read again by
 * cnnrt_compile(), so they have to stay as they are until then.
 */
int cnnrt_model_load(const char *path, struct cnnrt_model **model, struct cnnrt_error *err);
/**
 * cnnrt_model_load_buffer() - the same from memory, which may be freed afterwards.
 * @folder: path of the folder with the model's external data, NULL: such a model is refused
 */
int cnnrt_model_load_buffer(const void *data, size_t size, const char *folder,
			    struct cnnrt_model **model, struct cnnrt_error *err);
/** cnnrt_model_free() - programs that were compiled from it stay. */
void cnnrt_model_free(struct cnnrt_model *model);

/** cnnrt_model_io_count() - number of inputs or outputs. */
unsigned int cnnrt_model_io_count(const struct cnnrt_model *model, enum cnnrt_direction dir);
/** cnnrt_model_io() - input or output @index; the name lives as long as the model. */
int cnnrt_model_io(const struct cnnrt_model *model, enum cnnrt_direction dir,
		   unsigned int index, struct cnnrt_tensor_info *info, struct cnnrt_error *err);

/**
 * cnnrt_model_set_input_shape() - give an input's free dimensions a size.
 * @dims: all @rank dimensions; those that the file fixes must be repeated
 *
 * Dimensions still free at cnnrt_compile() become 1.
 */
int cnnrt_model_set_input_shape(struct cnnrt_model *model, unsigned int index, int rank,
				const int64_t *dims, struct cnnrt_error *err);
/**
 * cnnrt_model_set_input_data() - make an input a constant, such as the shape of a Reshape.
 * @data: of the input's type, copied
 */
int cnnrt_model_set_input_data(struct cnnrt_model *model, unsigned int index, int rank,
			       const int64_t *dims, const void *data, size_t size,
			       struct cnnrt_error *err);

/* ---- programs -------------------------------------------------------------------------- */

/** enum cnnrt_prefer - where an operator runs that a core and the CPU can run. */
enum cnnrt_prefer {
	/* On a core, unless every core that takes it needs more than twice the CPU's time. */
	CNNRT_PREFER_DEVICE = 0,
	CNNRT_PREFER_TIME = 1,	/* where the whole network ends soonest */
};

/** enum cnnrt_precision - what float32 operators may be computed with. */
enum cnnrt_precision {
	CNNRT_PRECISION_FP32 = 0,	/* float32, as the model says */
	/*
	 * float16 on cores that have it: their inputs, weights and results are rounded to the nearest
	 * float16, ties to even.  Nothing changes on other cores and the CPU.  CNNRT_EUNSUPPORTED: no
	 * core that may be used has float16.
	 */
	CNNRT_PRECISION_FP16 = 1,
};

/** struct cnnrt_compile_options - what is zero is the default. */
struct cnnrt_compile_options {
	size_t struct_size;
	/*
	 * Every operator that these cores can run runs there: a name as for
	 * cnnrt_device_find_cores().  NULL: where it is best.  A name with an index means
	 * exactly that core; else jobs spread over all cores that are equal.
	 */
	const char *core;
	bool cpu_only;		/* run nothing on the device */
	bool no_fuse;		/* do not fuse operators */
	bool observe;		/* keep every value in memory, for cnnrt_compare() */
	/* Limits for untrusted networks; beyond is CNNRT_ELIMIT.  0: 8 GiB and 2^42. */
	uint64_t max_memory;	/* bytes of constants, and of the values of one job */
	uint64_t max_work;	/* multiply-adds or element steps of one run */
	/* Called from time to time by cnnrt_compile(), last with done == total; may be NULL. */
	void (*progress)(unsigned int done, unsigned int total, void *opaque);
	void *opaque;
	enum cnnrt_prefer prefer;
	/*
	 * File with the costs of the target, as cnnrt_device_save_caps() and cnnctl calibrate write
	 * it.  NULL: those of @dev, which are of a reference CPU unless its description has others.
	 */
	const char *target;
	enum cnnrt_precision precision;
};

struct cnnrt_program;

/**
 * cnnrt_compile() - place a network's operators on a device's cores and the CPU and
 * translate them.
 * @model: not changed, not needed afterwards
 * @options: NULL for the default
 *
 * The program belongs to devices with the same cores as @dev; it holds no reference to @dev.
 */
int cnnrt_compile(const struct cnnrt_model *model, const struct cnnrt_device *dev,
		  const struct cnnrt_compile_options *options, struct cnnrt_program **program,
		  struct cnnrt_error *err);
/** cnnrt_program_free() - its jobs must be freed. */
void cnnrt_program_free(struct cnnrt_program *program);

/**
 * cnnrt_program_save() - write a program to a file, for cnnrt_program_load().
 * @path: replaced as a whole or not at all
 *
 * The same network, options and device give the same bytes.
 */
int cnnrt_program_save(const struct cnnrt_program *program, const char *path,
		       struct cnnrt_error *err);

/** struct cnnrt_load_options - limits for untrusted files; zero is the default. */
struct cnnrt_load_options {
	size_t struct_size;
	uint64_t max_memory;	/* as in struct cnnrt_compile_options */
	uint64_t max_work;
};

/**
 * cnnrt_program_load() - read a program that cnnrt_program_save() wrote; needs no ONNX file.
 * @dev: what it is to run on
 * @options: NULL for the default
 *
 * Everything in the file is checked, whoever wrote it.  It stays mapped, and must not be written
 * to, until the program is freed.
 *
 * Return: CNNRT_OK; CNNRT_EINVAL for a damaged file; CNNRT_EUNSUPPORTED for another format, or if
 * @dev lacks what the program needs.
 */
int cnnrt_program_load(const char *path, const struct cnnrt_device *dev,
		       const struct cnnrt_load_options *options, struct cnnrt_program **program,
		       struct cnnrt_error *err);
/** cnnrt_program_load_buffer() - the same from memory, which may be freed afterwards. */
int cnnrt_program_load_buffer(const void *data, size_t size, const struct cnnrt_device *dev,
			      const struct cnnrt_load_options *options,
			      struct cnnrt_program **program, struct cnnrt_error *err);
/** cnnrt_program_is() - do these first bytes of a file (8 or more) look like a program? */
bool cnnrt_program_is(const void *data, size_t size);

/** cnnrt_program_io_count() - number of inputs or outputs; the same as the model's. */
unsigned int cnnrt_program_io_count(const struct cnnrt_program *program,
				    enum cnnrt_direction dir);
/** cnnrt_program_io() - with all free dimensions settled; the name lives with the program. */
int cnnrt_program_io(const struct cnnrt_program *program, enum cnnrt_direction dir,
		     unsigned int index, struct cnnrt_tensor_info *info,
		     struct cnnrt_error *err);

/**
 * struct cnnrt_cost - what an operator takes in one run, by its core's cycle model (section
 * Timing of the core's page).
 *
 * Operators that share a program share its cost: added over all operators of a core, cycles and
 * bytes equal the sums of the statistics records of its tasks exactly.  An operator on the CPU
 * has no cycles, and its bytes are the sizes of its tensors, once each.
 */
struct cnnrt_cost {
	/* in cycles */
	uint64_t cycles;	/* compute + stall + control */
	uint64_t compute;	/* an execution unit of the core is busy */
	uint64_t stall;		/* the core waits for the DMA engine */
	uint64_t control;	/* boot, and instructions that start no execution unit */
	uint64_t dma_program, dma_weights, dma_data;	/* DMA engine busy; overlaps the others */
	/* multiply-accumulates */
	uint64_t mac_slots;	/* capacity of the execution units while they are busy */
	uint64_t mac_useful;	/* done for an output, including zeros that the compiler added */
	uint64_t mac_peak;	/* capacity of the core in all its cycles, in that number format */
	/* bytes from and to memory */
	uint64_t read_program, read_weights, read_data, written;
	/*
	 * Compulsory traffic in bytes: each constant and each other tensor once.  A tensor that
	 * fits an on-chip data bank could stay there, so that it counts only if it is an input or
	 * output of the network.
	 */
	uint64_t min_weights, min_input, min_output;
};

/** struct cnnrt_op_report - where one operator runs; valid during the callback. */
struct cnnrt_op_report {
	size_t struct_size;
	unsigned int index;
	const char *op;		/* "Conv" */
	const char *name;	/* as in the file */
	const char *fused;	/* operators that were merged into it, "" if none */
	const char *place;	/* core name or "cpu" */
	const char *reason;	/* why it runs there */
	int core;		/* core index, -1 on the CPU */
	uint64_t macs;		/* multiply-accumulates (mean: elements); 0: none or unknown */
	const struct cnnrt_cost *cost;
	uint64_t cost_ns;	/* on the target, without copies and submission */
	/* The cheapest of the other places that can run it; "": there is none, or it is unknown. */
	const char *next_place;
	uint64_t next_ns;	/* about what it would cost there */
};

/** cnnrt_program_explain() - report every operator in the order of execution. */
void cnnrt_program_explain(const struct cnnrt_program *program,
			   void (*report)(const struct cnnrt_op_report *op, void *opaque),
			   void *opaque);

/**
 * cnnrt_program_removed() - report every operator of the file that the program does not run, and
 * what became of it; the texts are valid during the callback.
 */
void cnnrt_program_removed(const struct cnnrt_program *program,
			   void (*report)(const char *op, const char *name, const char *why,
					  void *opaque), void *opaque);

/** enum cnnrt_activity - what a core and its DMA engine do. */
enum cnnrt_activity {
	CNNRT_CONTROL = 0,	/* core: boot, and instructions that start no execution unit */
	CNNRT_STALL = 1,	/* core: waits for the DMA engine */
	CNNRT_COMPUTE = 2,	/* core: an execution unit is busy */
	CNNRT_DMA_PROGRAM = 3,	/* DMA engine: loads instructions */
	CNNRT_DMA_WEIGHTS = 4,	/* DMA engine: loads weights */
	CNNRT_DMA_LOAD = 5,	/* DMA engine: loads activations */
	CNNRT_DMA_STORE = 6,	/* DMA engine: stores activations */
};

/** struct cnnrt_span - a stretch of the modelled time line of a task. */
struct cnnrt_span {
	unsigned int op;	/* index of the operator that it is for */
	unsigned int task;	/* index of the task in the program */
	int core;
	enum cnnrt_activity what;
	uint64_t start, end;	/* cycles since the task's start */
};

/**
 * cnnrt_program_spans() - report the time line of every task.
 *
 * A task has two rows, the core and its DMA engine.  The spans of a row come in order and do not
 * overlap; those of the core leave no gap.  A row's work for one operator is cut into at most 32
 * pieces of equal length; inside a piece, spans are added up per activity and put at its start, in
 * the order of enum cnnrt_activity.  At most 2^20 spans are kept.
 */
void cnnrt_program_spans(const struct cnnrt_program *program,
			 void (*report)(const struct cnnrt_span *span, void *opaque),
			 void *opaque);

/** struct cnnrt_estimate - what one run takes. */
struct cnnrt_estimate {
	size_t struct_size;
	uint64_t macs_total;	/* multiply-accumulates of all operators */
	uint64_t macs_device;	/* of operators that run on a core */
	uint64_t macs_core[CNNRT_MAX_CORES];
	uint32_t ops_total, ops_device;
	uint32_t tasks;		/* programs that the device runs */
	uint32_t segments;	/* runs of consecutive operators on one core or the CPU */
	uint64_t cycles;	/* of all tasks, by the cycle model */
	uint64_t compile_ns;	/* wall time of cnnrt_compile(); 0: loaded */
	uint64_t weight_bytes;	/* device memory written once */
	uint64_t program_bytes;
	uint64_t activation_bytes;	/* device memory per context */
	/*
	 * Tensors that get another layout in each run, on their way to a core or back, or by an
	 * operator of their own, and their bytes in the host's layout.
	 */
	uint32_t conversions;
	uint64_t conversion_bytes;
	uint64_t ns;		/* modelled time of a run on the target, from start to end */
	uint64_t target_hash;	/* of the table of costs that stated the target */
};

/** cnnrt_program_estimate() - totals and per core. */
int cnnrt_program_estimate(const struct cnnrt_program *program, struct cnnrt_estimate *est,
			   struct cnnrt_error *err);

/* ---- contexts -------------------------------------------------------------------------- */

/**
 * enum cnnrt_priority - which jobs a core of a kernel device runs first.
 *
 * Jobs of a higher priority go first, those of one priority take turns.  A job that has waited ten
 * times as long as the cycle limits of its program allow it to run, at least 100 ms and at most
 * 10 s, goes before those of higher priorities, and several such jobs one after the other, each
 * after such a time.  In process, priorities make no difference.
 */
enum cnnrt_priority {
	CNNRT_PRIORITY_LOW = 0,
	CNNRT_PRIORITY_NORMAL = 1,
	CNNRT_PRIORITY_HIGH = 2,	/* CAP_SYS_NICE */
};

struct cnnrt_context;

/** cnnrt_context_create() - jobs of one priority, each with a queue per core. */
int cnnrt_context_create(struct cnnrt_device *dev, enum cnnrt_priority priority,
			 struct cnnrt_context **ctx, struct cnnrt_error *err);
/** cnnrt_context_destroy() - all its jobs and buffers must be freed. */
void cnnrt_context_destroy(struct cnnrt_context *ctx);

/* ---- buffers --------------------------------------------------------------------------- */

struct cnnrt_buffer;

/** cnnrt_buffer_create() - zeroed memory that device and CPU can reach. */
int cnnrt_buffer_create(struct cnnrt_context *ctx, size_t size, struct cnnrt_buffer **buf,
			struct cnnrt_error *err);
/**
 * cnnrt_buffer_import() - use another driver's memory.
 * @fd: dma-buf; on the in-process device also a memfd of whole pages that is sealed against
 *	shrinking.  Still the caller's, who may close it at once.
 */
int cnnrt_buffer_import(struct cnnrt_context *ctx, int fd, struct cnnrt_buffer **buf,
			struct cnnrt_error *err);
/** cnnrt_buffer_export() - a dma-buf (in process: memfd) that the caller closes. */
int cnnrt_buffer_export(struct cnnrt_buffer *buf, int *fd, struct cnnrt_error *err);
/** cnnrt_buffer_map() - the CPU's view, the same pointer every time, valid until the free. */
int cnnrt_buffer_map(struct cnnrt_buffer *buf, void **ptr, struct cnnrt_error *err);
/** cnnrt_buffer_size() - usable bytes. */
size_t cnnrt_buffer_size(const struct cnnrt_buffer *buf);

enum cnnrt_sync {
	CNNRT_SYNC_FOR_DEVICE = 1,	/* after writing through the map, before a submit */
	CNNRT_SYNC_FOR_CPU = 2,		/* after a job, before reading through the map */
};

/**
 * cnnrt_buffer_sync() - cache maintenance; does nothing where caches are coherent, except that
 * the exporter of imported memory is always told.
 */
int cnnrt_buffer_sync(struct cnnrt_buffer *buf, enum cnnrt_sync what, struct cnnrt_error *err);
/** cnnrt_buffer_free() - no job that uses it may be running. */
void cnnrt_buffer_free(struct cnnrt_buffer *buf);

/* ---- jobs ------------------------------------------------------------------------------ */

struct cnnrt_job;

/**
 * cnnrt_job_create() - one instance of a program that can run again and again.
 *
 * Its memory is allocated and its programs are uploaded here; the weights are uploaded with the
 * program's first job on the open device.  All jobs of an open device share an address space: open
 * the device once for each program that must not reach the memory of others.  An open device takes
 * at least 32 jobs at once.
 */
int cnnrt_job_create(struct cnnrt_context *ctx, const struct cnnrt_program *program,
		     struct cnnrt_job **job, struct cnnrt_error *err);
/** cnnrt_job_free() - ends a running job after the step that it is in, and waits for that. */
void cnnrt_job_free(struct cnnrt_job *job);

/**
 * cnnrt_job_bind() - have an input read from, or an output written to, the caller's buffer.
 * @offset: first byte in the buffer, multiple of the device's page size (4096, or that of
 *	the kernel)
 *
 * The buffer must outlive the job or the next bind.  Not while the job runs.
 */
int cnnrt_job_bind(struct cnnrt_job *job, enum cnnrt_direction dir, unsigned int index,
		   struct cnnrt_buffer *buf, size_t offset, struct cnnrt_error *err);
/**
 * cnnrt_job_map() - where an input is to be written, or an output can be read.
 * @info: NULL, or receives the shape; after a run an output's is always known
 * @ptr: NULL, or receives a pointer that is valid until the job is submitted again, bound or
 *	freed
 */
int cnnrt_job_map(struct cnnrt_job *job, enum cnnrt_direction dir, unsigned int index,
		  struct cnnrt_tensor_info *info, void **ptr, struct cnnrt_error *err);

/**
 * cnnrt_job_submit() - start the job and return.
 * @in_fence: fence to wait for first, a sync_file or an eventfd, -1 for none; still the caller's
 * @out_fence: NULL, or receives a fence that the caller closes
 *
 * CNNRT_EBUSY if the job still runs.
 */
int cnnrt_job_submit(struct cnnrt_job *job, int in_fence, int *out_fence,
		     struct cnnrt_error *err);
/**
 * cnnrt_job_wait() - wait for the end of the job.
 * @timeout_ns: at most that long; negative: as long as the job's cycle limits last
 *
 * Return: CNNRT_OK; CNNRT_ETIMEDOUT (the job goes on); CNNRT_EJOB, CNNRT_ECANCELED or
 * CNNRT_EGONE; of an operator on the CPU CNNRT_EINVAL, CNNRT_ELIMIT or CNNRT_ENOMEM.
 */
int cnnrt_job_wait(struct cnnrt_job *job, int64_t timeout_ns, struct cnnrt_error *err);

/** enum cnnrt_job_state - what a job is doing. */
enum cnnrt_job_state {
	CNNRT_JOB_IDLE = 0,	/* never submitted */
	CNNRT_JOB_RUNNING = 1,
	CNNRT_JOB_DONE = 2,
	CNNRT_JOB_FAILED = 3,
};

/** struct cnnrt_job_status - how a job or a raw program ended. */
struct cnnrt_job_status {
	size_t struct_size;
	enum cnnrt_job_state state;
	int code;		/* enum cnnrt_code */
	int core;		/* core index of the failure, -1: not on a core */
	uint32_t task;		/* which program of the job */
	uint16_t status_class;	/* enum cnnacc_status_class; OK if the core hung */
	uint16_t status_code;	/* enum cnnacc_status_code or the core's own */
	const char *class_name, *code_name;	/* "MMU_FAULT", "HANG"; "E_DMA"; static */
	uint32_t detail;	/* struct cnnacc_completion.detail */
	uint32_t pc;		/* program counter */
	uint32_t access;	/* enum cnnacc_access */
	uint64_t va;		/* fault address */
	char text[CNNRT_ERROR_TEXT];	/* all that as a sentence, with the operator's name */
};

/** cnnrt_job_status() - never waits. */
int cnnrt_job_status(struct cnnrt_job *job, struct cnnrt_job_status *status,
		     struct cnnrt_error *err);

/** enum cnnrt_step_kind - what the host does in a step. */
enum cnnrt_step_kind {
	CNNRT_STEP_OP = 0,	/* runs an operator on the CPU */
	CNNRT_STEP_TASKS = 1,	/* submits programs to a core and waits for them */
	CNNRT_STEP_COPY = 2,	/* converts values to or from the layout of a core */
};

/** struct cnnrt_step - one step of the last run; valid during the callback. */
struct cnnrt_step {
	size_t struct_size;
	enum cnnrt_step_kind kind;
	const char *name;	/* the operator, or the first operator of the programs */
	const char *place;	/* core name or "cpu" */
	int core;		/* index of the core that ran it, -1 on the CPU */
	unsigned int op;	/* index of the operator called name */
	unsigned int first_task, task_count;	/* programs, by index; 0 and 0 if there are none */
	uint64_t start_ns, end_ns;	/* measured, since the submit of the job */
	uint64_t submitted_ns;	/* of TASKS: when the wait began; else start_ns */
	uint64_t cycles;	/* that the device counted, 0 on the CPU */
	uint64_t macs;		/* of TASKS: counted by the device; else the operator's */
	uint64_t mac_slots;	/* of TASKS: capacity of its busy execution units; else 0 */
	uint64_t scrub_cycles;	/* of cycles: clearing what another process left in the core */
};

/** cnnrt_job_profile() - report the steps of a finished run in the order of their start. */
int cnnrt_job_profile(struct cnnrt_job *job,
		      void (*report)(const struct cnnrt_step *step, void *opaque), void *opaque,
		      struct cnnrt_error *err);

/** struct cnnrt_compare_options - what is zero is the default. */
struct cnnrt_compare_options {
	size_t struct_size;
	/*
	 * An element may differ by rtol * |reference| + atol * largest |reference| of the tensor,
	 * at least 1.  0: 1e-5 and 1e-4.  Integers may not differ.
	 */
	double atol, rtol;
};

/** struct cnnrt_layer - one output of one operator, compared; valid during the callback. */
struct cnnrt_layer {
	size_t struct_size;
	unsigned int index;	/* of the operator, as cnnrt_program_explain() counts */
	const char *op, *name;
	const char *place;	/* core name or "cpu" */
	const struct cnnrt_tensor_info *value;
	uint64_t count;		/* elements */
	uint64_t unwritten;	/* elements never written: they hold 0x7fa0cccc */
	uint64_t beyond;	/* elements beyond the bound, or never written */
	uint64_t first;		/* the first element beyond, row-major */
	double got, want;	/* its value, and the reference */
	double error;		/* the largest difference of all written elements */
	double bound;		/* the largest of all elements, each of which has its own */
	/* Of those beyond: the reference or an input is outside float16's range, all that the core has. */
	uint64_t saturated;
};

/**
 * cnnrt_compare() - run a job and compare every operator's output with the CPU's.
 * @job: of a program that was compiled with observe, its inputs filled, no output bound
 * @options: NULL for the default
 * @report: called for each output of each operator, in the order of execution
 *
 * The reference of an operator is computed on the CPU from the inputs that the device had, so that
 * errors do not add up from layer to layer.  It is computed by the operators of the model's file
 * that the layer replaces; if the program was loaded from a file, or the layer computes something
 * that the model does not have (such as a factor plus one), by the compiled operator itself.
 * Results that a core rounds in a way of its own, as float16, are compared with exact ones of the
 * inputs that it had, each within the bound that follows from its arithmetic; the bound does not
 * allow for results that exceed float16, which are beyond it and counted as saturated.
 * Infinities must be equal, except that a MaxPool on a core may give -FLT_MAX for -infinity.
 * Before the run every value is filled with a NaN that no operator produces.
 *
 * Return: number of outputs with an element beyond the bound, or an error.
 */
int cnnrt_compare(struct cnnrt_job *job, const struct cnnrt_compare_options *options,
		  void (*report)(const struct cnnrt_layer *layer, void *opaque), void *opaque,
		  struct cnnrt_error *err);

/**
 * cnnrt_job_bounds() - how far an output may be from the exact result, by the arithmetic of the cores
 * that computed it.
 * @job: with its inputs filled, none bound to a buffer; it need not have run
 * @bound: receives a number for each of the @count elements of the output; 0: no core rounds it
 *	in a way of its own
 *
 * Cores that compute float16 round inputs, weights, sums and results; the bounds follow from these
 * very numbers, computed on the CPU.  CNNRT_EUNSUPPORTED if a bound does not follow, as an operator
 * behind such a core is not known to keep order.
 */
int cnnrt_job_bounds(struct cnnrt_job *job, unsigned int output, double *bound, size_t count,
		     struct cnnrt_error *err);

/**
 * cnnrt_run() - run a network on host memory.
 * @inputs, @outputs: an array per direction, as many as the program has, with memory of the
 *	size that cnnrt_program_io() gives
 *
 * The job that runs it is kept for the next call, one for each thread that calls at the same time,
 * until the program or the context is freed or another job needs its memory.
 *
 * CNNRT_EUNSUPPORTED if an output has a size that only a run finds, such as the number of boxes
 * that NonMaxSuppression selects: cnnrt_job_map() tells it after the run of a job.
 */
int cnnrt_run(struct cnnrt_context *ctx, const struct cnnrt_program *program,
	      const void *const *inputs, void *const *outputs, struct cnnrt_error *err);

/* ---- raw programs ---------------------------------------------------------------------- */

#define CNNRT_MAP_READ	0x1u
#define CNNRT_MAP_WRITE	0x2u
#define CNNRT_MAP_EXEC	0x4u

/** struct cnnrt_range - a piece of the device address space for a raw program. */
struct cnnrt_range {
	uint64_t va;		/* any byte; the rest of its pages is zero */
	uint64_t size;
	unsigned int flags;	/* CNNRT_MAP_*; the same in all ranges that share a page */
	const void *in;		/* bytes before the run, NULL: zero */
	void *out;		/* receives the bytes after the run, NULL: not wanted */
};

/** struct cnnrt_exec - one raw program. */
struct cnnrt_exec {
	size_t struct_size;
	unsigned int core;	/* core index */
	uint64_t program_va;	/* multiple of 64, in an executable range */
	uint64_t program_size;	/* bytes */
	uint64_t cycle_limit;	/* 0: the core's largest */
	int64_t timeout_ns;	/* negative: as long as the cycle limit lasts */
	struct cnnrt_range *ranges;
	unsigned int range_count;
	size_t range_size;	/* sizeof(struct cnnrt_range) */
	bool own_stats;		/* write the statistics record to stats_va */
	uint64_t stats_va;	/* in a range or not; multiple of 64 */
};

/**
 * cnnrt_exec() - run one raw program in a fresh context and wait for it.
 * @status: how it ended
 * @stats: NULL, or memory for struct cnnacc_stats of cnnacc_hw.h, which is written to a page
 *	outside every range; zero if the device wrote none
 *
 * Return: CNNRT_OK whenever the device ran it, however it ended; else an error.
 */
int cnnrt_exec(struct cnnrt_device *dev, const struct cnnrt_exec *exec,
	       struct cnnrt_job_status *status, void *stats, struct cnnrt_error *err);

/* ---- events ---------------------------------------------------------------------------- */

struct cnnrt_event;

/**
 * cnnrt_event_create() - count the events that programs raise on a core, such as the sequencer's
 * command IRQ.
 * @core: core index
 *
 * Counted are those of jobs that are created, and of raw programs that are started, from now on.
 * CNNRT_EBUSY if there is one for the core already.  The device must outlive it.
 */
int cnnrt_event_create(struct cnnrt_device *dev, unsigned int core, struct cnnrt_event **event,
		       struct cnnrt_error *err);
/** cnnrt_event_fd() - poll() says POLLIN while there is an event to read; never read() it. */
int cnnrt_event_fd(const struct cnnrt_event *event);
/**
 * cnnrt_event_read() - take the events since the last read.
 * @timeout_ns: wait so long for the first one; negative: for ever
 * @count: receives how many there were, at least 1
 *
 * The events of a job are there when its end is known.
 *
 * Return: CNNRT_OK; CNNRT_ETIMEDOUT if there was none
 */
int cnnrt_event_read(struct cnnrt_event *event, int64_t timeout_ns, uint64_t *count,
		     struct cnnrt_error *err);
/** cnnrt_event_destroy() - no other thread may be using it. */
void cnnrt_event_destroy(struct cnnrt_event *event);

/**
 * cnnrt_status_describe() - describe a status in text.
 * @core: name of the core; for one unknown to the library only the shell's codes have text
 * @status: its numbers are read; class_name, code_name and text are written.  The text describes
 *	the core's status only, not hangs.
 */
int cnnrt_status_describe(const char *core, struct cnnrt_job_status *status,
			  struct cnnrt_error *err);

#ifdef __cplusplus
}
#endif

#endif /* CNNRT_H */
