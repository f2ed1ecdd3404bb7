/* SPDX-License-Identifier: MIT */
/* Programs for an open device: compiled from a model, or loaded from a file. */
#include "backend/backend.h"
#include "device/device.h"
#include "program/model.h"

static struct rt_target target_of(const struct cnnrt_device *dev)
{
	return (struct rt_target){
		.core = dev->core, .core_count = dev->info.core_count,
		.hw_version = dev->info.hw_version, .cost = dev->target,
	};
}

/* float16 is of no use without a core that has it, among those that may be used. */
static int check_precision(const struct cnnrt_compile_options *o, const struct cnnrt_device *dev,
			   uint32_t cores, struct cnnrt_error *err)
{
	char known[CNNRT_ERROR_TEXT / 2];

	if (o->precision != CNNRT_PRECISION_FP32 && o->precision != CNNRT_PRECISION_FP16)
		return rt_fail(err, CNNRT_EINVAL, "compile: precision %d: 0 (fp32) or 1 (fp16) wanted",
			       (int)o->precision);
	if (o->precision == CNNRT_PRECISION_FP32)
		return CNNRT_OK;
	for (uint32_t i = 0; i < dev->info.core_count && !o->cpu_only; i++) {
		const struct cnn_backend_ops *ops = cnn_backend_find(dev->core[i].name);

		if ((!cores || cores >> i & 1) && ops && ops->has_float16)
			return CNNRT_OK;
	}
	rt_list_cores(dev, known, sizeof(known));
	if (o->cpu_only || o->core)
		return rt_fail(err, CNNRT_EUNSUPPORTED, "compile: precision fp16: core %.40s has no "
			       "float16; %.60s has %s", o->core ? o->core : "cpu", dev->info.path,
			       known);
	return rt_fail(err, CNNRT_EUNSUPPORTED, "compile: precision fp16: no core of %.60s has "
		       "float16: it has %s", dev->info.path, known);
}

static int read_options(const struct cnnrt_compile_options *from, const struct cnnrt_device *dev,
			struct cnnrt_compile_options *o, struct cnn_lower_options *opt,
			struct cnnrt_error *err)
{
	int ret = rt_struct_read(RT_STRUCT(cnnrt_compile_options, max_work), o, from, err);

	if (ret)
		return ret;
	*opt = (struct cnn_lower_options){
		.cpu_only = o->cpu_only, .observe = o->observe, .progress = o->progress,
		.opaque = o->opaque, .prefer = o->prefer, .no_fuse = o->no_fuse,
	};
	if (o->prefer != CNNRT_PREFER_DEVICE && o->prefer != CNNRT_PREFER_TIME)
		return rt_fail(err, CNNRT_EINVAL, "compile: prefer %d: 0 (device) or 1 (time) wanted",
			       (int)o->prefer);
	if (o->core && o->cpu_only)
		return rt_fail(err, CNNRT_EINVAL, "compile: core \"%.40s\" and cpu_only contradict "
			       "each other: leave one out", o->core);
	ret = o->core ? cnnrt_device_find_cores(dev, o->core, &opt->cores, err) : CNNRT_OK;
	return ret ?: check_precision(o, dev, opt->cores, err);
}

int cnnrt_compile(const struct cnnrt_model *model, const struct cnnrt_device *dev,
		  const struct cnnrt_compile_options *options, struct cnnrt_program **out,
		  struct cnnrt_error *err)
{
	struct rt_target target = target_of(dev);
	struct cnnrt_compile_options own;
	struct cnn_lower_options opt;
	int ret = read_options(options, dev, &own, &opt, err);

	opt.target = &target.cost;
	if (!ret && own.target)
		ret = rt_caps_read_target(own.target, dev, &target.cost, err);
	return ret ? ret : rt_build(model, &target, &own, &opt, out, err);
}

int cnnrt_program_load(const char *path, const struct cnnrt_device *dev,
		       const struct cnnrt_load_options *options, struct cnnrt_program **program,
		       struct cnnrt_error *err)
{
	const struct rt_target target = target_of(dev);
	struct rt_mapping m;
	int ret = rt_map_file(path, &m, err);

	return ret ? ret : rt_load(m, &target, options, program, err);
}

int cnnrt_program_load_buffer(const void *data, size_t size, const struct cnnrt_device *dev,
			      const struct cnnrt_load_options *options,
			      struct cnnrt_program **program, struct cnnrt_error *err)
{
	const struct rt_target target = target_of(dev);
	struct rt_mapping m;
	int ret = rt_map_copy(data, size, &m, err);

	return ret ? ret : rt_load(m, &target, options, program, err);
}
