/* SPDX-License-Identifier: MIT */
/* Pictures (PNG, JPEG, PNM) and how they become tensors. */
#include "tensor.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

#define MAX_SIDE	16384u
#define MAX_PIXELS	(64u << 20)

static bool allocate(struct picture *p, uint64_t width, uint64_t height, unsigned int channels,
		     const char **why)
{
	*why = "it is empty or larger than 64 megapixels";
	if (!width || !height || width > MAX_SIDE || height > MAX_SIDE ||
	    width * height > MAX_PIXELS)
		return false;
	p->width = (unsigned int)width;
	p->height = (unsigned int)height;
	p->channels = channels;
	p->pixels = malloc((size_t)width * height * channels);
	*why = "out of memory";
	return p->pixels;
}

static bool decode_png(const void *data, size_t size, struct picture *p, const char **why)
{
	const png_color white = { 255, 255, 255 };
	png_image image = { .version = PNG_IMAGE_VERSION };
	bool ok;

	*why = "the PNG cannot be decoded";
	if (!png_image_begin_read_from_memory(&image, data, size))
		return false;
	image.format = image.format & PNG_FORMAT_FLAG_COLOR ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
	ok = allocate(p, image.width, image.height, PNG_IMAGE_PIXEL_CHANNELS(image.format), why);
	if (ok) {
		*why = "the PNG cannot be decoded";
		ok = png_image_finish_read(&image, &white, p->pixels, 0, NULL);
	}
	png_image_free(&image);
	return ok;
}

struct jpeg_trap {
	struct jpeg_error_mgr base;
	jmp_buf jump;
};

static void jpeg_fail(j_common_ptr cinfo)
{
	longjmp(((struct jpeg_trap *)cinfo->err)->jump, 1);
}

static void jpeg_quiet(j_common_ptr cinfo, int level)
{
	(void)cinfo;
	(void)level;
}

static bool read_jpeg(struct jpeg_decompress_struct *j, const void *data, size_t size,
		      struct picture *p, const char **why)
{
	jpeg_create_decompress(j);
	jpeg_mem_src(j, data, (unsigned long)size);
	jpeg_read_header(j, TRUE);
	j->out_color_space = j->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_start_decompress(j);
	if (!allocate(p, j->output_width, j->output_height, (unsigned int)j->output_components,
		      why))
		return false;
	while (j->output_scanline < j->output_height) {
		JSAMPROW row = p->pixels + (size_t)j->output_scanline * p->width * p->channels;

		jpeg_read_scanlines(j, &row, 1);
	}
	jpeg_finish_decompress(j);
	return true;
}

static bool decode_jpeg(const void *data, size_t size, struct picture *p, const char **why)
{
	struct jpeg_decompress_struct j = { 0 };
	struct jpeg_trap trap;
	volatile bool ok = false;

	j.err = jpeg_std_error(&trap.base);
	trap.base.error_exit = jpeg_fail;
	trap.base.emit_message = jpeg_quiet;
	*why = "the JPEG cannot be decoded";
	if (!setjmp(trap.jump))
		ok = read_jpeg(&j, data, size, p, why);
	jpeg_destroy_decompress(&j);
	return ok;
}

static bool pnm_number(const uint8_t **p, const uint8_t *end, unsigned int *value)
{
	while (*p < end && (**p == '#' || strchr(" \t\r\n", **p))) {
		if (!**p)
			return false;
		if (**p == '#')
			while (*p < end && **p != '\n')
				(*p)++;
		else
			(*p)++;
	}
	*value = 0;
	if (*p >= end || **p < '0' || **p > '9')
		return false;
	while (*p < end && **p >= '0' && **p <= '9' && *value < 1000000)
		*value = *value * 10 + *(*p)++ - '0';
	return true;
}

static bool decode_pnm(const void *data, size_t size, struct picture *p, const char **why)
{
	const uint8_t *at = (const uint8_t *)data + 2, *end = (const uint8_t *)data + size;
	unsigned int width, height, max, channels = ((const uint8_t *)data)[1] == '6' ? 3 : 1;
	size_t count;

	*why = "the header cannot be read";
	if (!pnm_number(&at, end, &width) || !pnm_number(&at, end, &height) ||
	    !pnm_number(&at, end, &max) || at == end)
		return false;
	at++;
	*why = "only samples of 1..255 are read";
	if (!max || max > 255)
		return false;
	if (!allocate(p, width, height, channels, why))
		return false;
	count = (size_t)width * height * channels;
	*why = "it is cut off";
	if ((size_t)(end - at) < count)
		return false;
	for (size_t i = 0; i < count; i++)
		p->pixels[i] = (uint8_t)(at[i] >= max ? 255 : at[i] * 255u / max);
	return true;
}

static bool is_png(const uint8_t *d, size_t size)
{
	return size > 8 && !memcmp(d, "\x89PNG\r\n\x1a\n", 8);
}

static bool is_jpeg(const uint8_t *d, size_t size)
{
	return size > 3 && d[0] == 0xff && d[1] == 0xd8 && d[2] == 0xff;
}

static bool is_pnm(const uint8_t *d, size_t size)
{
	return size > 8 && d[0] == 'P' && (d[1] == '5' || d[1] == '6') &&
	       strchr(" \t\r\n#", d[2]) && d[2];
}

bool picture_is(const void *data, size_t size)
{
	return is_png(data, size) || is_jpeg(data, size) || is_pnm(data, size);
}

bool picture_decode(const void *data, size_t size, struct picture *p, const char **why)
{
	bool ok;

	memset(p, 0, sizeof(*p));
	ok = is_png(data, size) ? decode_png(data, size, p, why) :
	     is_jpeg(data, size) ? decode_jpeg(data, size, p, why) : decode_pnm(data, size, p, why);
	if (!ok) {
		free(p->pixels);
		p->pixels = NULL;
	}
	return ok;
}

/* Sample c (0 red, 1 green, 2 blue) at a pixel; one channel of a grey target is the luma. */
static float sample(const struct picture *p, unsigned int x, unsigned int y, unsigned int c,
		    unsigned int channels)
{
	const uint8_t *px = p->pixels + ((size_t)y * p->width + x) * p->channels;

	if (p->channels == 1)
		return px[0];
	if (channels == 1)
		return 0.299f * px[0] + 0.587f * px[1] + 0.114f * px[2];
	return px[c];
}

/* Bilinear, pixel centres at halves; positions outside repeat the edge. */
static float bilinear(const struct picture *p, float x, float y, unsigned int c,
		      unsigned int channels)
{
	unsigned int x0, y0, x1, y1;
	float fx, fy, top, bottom;

	x = x < 0 ? 0 : x > (float)(p->width - 1) ? (float)(p->width - 1) : x;
	y = y < 0 ? 0 : y > (float)(p->height - 1) ? (float)(p->height - 1) : y;
	x0 = (unsigned int)x;
	y0 = (unsigned int)y;
	x1 = x0 + 1 < p->width ? x0 + 1 : x0;
	y1 = y0 + 1 < p->height ? y0 + 1 : y0;
	fx = x - (float)x0;
	fy = y - (float)y0;
	top = sample(p, x0, y0, c, channels) * (1 - fx) + sample(p, x1, y0, c, channels) * fx;
	bottom = sample(p, x0, y1, c, channels) * (1 - fx) + sample(p, x1, y1, c, channels) * fx;
	return top * (1 - fy) + bottom * fy;
}

/* Maps target to source pixels: source = (target + 0.5) * step + start - 0.5. */
struct view {
	float step_x, step_y, start_x, start_y;
	unsigned int width, height;	/* the part of the target that the picture covers */
};

static struct view make_view(const struct picture *p, unsigned int width, unsigned int height,
			     int fit)
{
	struct view v = {
		.step_x = (float)p->width / (float)width,
		.step_y = (float)p->height / (float)height, .width = width, .height = height,
	};

	if (fit == FIT_CROP) {
		v.step_x = v.step_y = v.step_x < v.step_y ? v.step_x : v.step_y;
		v.start_x = ((float)p->width - v.step_x * (float)width) / 2;
		v.start_y = ((float)p->height - v.step_y * (float)height) / 2;
	} else if (fit == FIT_PAD) {
		float step = v.step_x > v.step_y ? v.step_x : v.step_y;
		unsigned int w = (unsigned int)((float)p->width / step + 0.5f);
		unsigned int h = (unsigned int)((float)p->height / step + 0.5f);

		v.width = w < 1 ? 1 : w > width ? width : w;
		v.height = h < 1 ? 1 : h > height ? height : h;
		v.step_x = (float)p->width / (float)v.width;
		v.step_y = (float)p->height / (float)v.height;
	}
	return v;
}

/* nhwc: the channels of a pixel are adjacent; else NCHW. */
static void fill(const struct picture *p, const struct picture_options *opt, unsigned int channels,
		 unsigned int height, unsigned int width, bool nhwc, struct cnn_tensor *t)
{
	struct view v = make_view(p, width, height, (int)opt->fit);
	size_t plane = (size_t)height * width;

	for (unsigned int c = 0; c < channels; c++) {
		unsigned int from = opt->bgr && channels == 3 ? 2 - c : c;

		for (unsigned int y = 0; y < height; y++) {
			for (unsigned int x = 0; x < width; x++) {
				size_t pixel = (size_t)y * width + x;
				size_t at = nhwc ? pixel * channels + c : c * plane + pixel;
				float s;

				if (x >= v.width || y >= v.height)
					continue;
				s = bilinear(p, ((float)x + 0.5f) * v.step_x + v.start_x - 0.5f,
					     ((float)y + 0.5f) * v.step_y + v.start_y - 0.5f,
					     from, channels);
				if (t->dtype == CNN_UINT8)
					((uint8_t *)t->data)[at] = (uint8_t)(s + 0.5f);
				else
					((float *)t->data)[at] =
						(s * opt->scale - opt->mean[c]) / opt->std[c];
			}
		}
	}
}

static bool is_channels(int64_t n)
{
	return n == 1 || n == 3;
}

int picture_to_tensor(const struct picture *p, const struct cnnrt_tensor_info *want,
		      const struct picture_options *opt, struct cnn_tensor *t)
{
	static const int order[2][3] = { { 0, 1, 2 }, { 2, 0, 1 } };
	int64_t dims[3] = { p->channels, p->height, p->width };
	int lead = want->rank - 3;
	struct cnn_err err;
	bool nhwc;

	memset(t, 0, sizeof(*t));
	if (lead < 0 || lead > 1 || (lead && want->dims[0] > 1) ||
	    (want->type != CNNRT_FLOAT32 && want->type != CNNRT_UINT8))
		return complain(EXIT_FAILED, "input %s: a picture serves float32 or uint8 of "
				"[1, channels, height, width] or [1, height, width, channels], "
				"with or without the 1", want->name);
	nhwc = is_channels(want->dims[lead + 2]) && !is_channels(want->dims[lead]) &&
	       want->dims[lead] > 0;
	t->dtype = (enum cnn_dtype)want->type;
	t->rank = want->rank;
	t->dims[0] = 1;
	for (int i = 0; i < 3; i++) {
		int axis = lead + order[nhwc][i];

		if (want->dims[axis] > 0)
			dims[i] = want->dims[axis];
		t->dims[axis] = dims[i];
	}
	if (!is_channels(dims[0]) || dims[1] > MAX_SIDE || dims[2] > MAX_SIDE)
		return complain(EXIT_FAILED, "input %s: a picture has 1 or 3 channels and at most "
				"%u x %u pixels", want->name, MAX_SIDE, MAX_SIDE);
	if (cnn_tensor_alloc(t, 0, &err))
		return complain(EXIT_FAILED, "input %s: %s", want->name, err.text);
	fill(p, opt, (unsigned int)dims[0], (unsigned int)dims[1], (unsigned int)dims[2], nhwc, t);
	return EXIT_DONE;
}
