/* SPDX-License-Identifier: MIT */
#include "util.h"

#include <inttypes.h>

static void quoted(struct json *j, const char *text)
{
	fputc('"', j->out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(j->out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(j->out, "\\u%04x", c);
		else
			fputc(c, j->out);
	}
	fputc('"', j->out);
}

static void new_line(struct json *j)
{
	if (!j->one_line)
		fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
}

static void start(struct json *j, const char *key)
{
	if (j->comma)
		fputs(j->one_line ? ", " : ",", j->out);
	if (j->depth)
		new_line(j);
	if (key) {
		quoted(j, key);
		fputs(": ", j->out);
	}
	j->comma = true;
}

void json_open(struct json *j, const char *key, char bracket)
{
	start(j, key);
	fputc(bracket, j->out);
	j->depth++;
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->comma)
		new_line(j);
	fputc(bracket, j->out);
	j->comma = true;
	if (!j->depth) {
		fputc('\n', j->out);
		j->comma = false;
	}
}

void json_string(struct json *j, const char *key, const char *value)
{
	start(j, key);
	quoted(j, value);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	start(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	start(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_hex(struct json *j, const char *key, uint64_t value)
{
	start(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void json_micros(struct json *j, const char *key, uint64_t ns)
{
	start(j, key);
	fprintf(j->out, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

void json_double(struct json *j, const char *key, double value)
{
	start(j, key);
	fprintf(j->out, "%.9g", value);
}

void json_members(struct json *j, const struct json_member *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].text)
			json_string(j, list[i].key, list[i].text);
		else if (list[i].hex)
			json_hex(j, list[i].key, list[i].value);
		else
			json_u64(j, list[i].key, list[i].value);
	}
}

void json_object(struct json *j, const char *key, const struct json_member *list, size_t count)
{
	json_open(j, key, '{');
	json_members(j, list, count);
	json_close(j, '}');
}

void json_status(struct json *j, const char *key, const struct cnnrt_job_status *s)
{
	JSON_OBJECT(j, key, TEXT("class", s->class_name), U64("class_value", s->status_class),
		    TEXT("code", s->code_name), U64("code_value", s->status_code),
		    U64("detail", s->detail), U64("pc", s->pc), U64("access", s->access),
		    HEX("fault_va", s->va), TEXT("text", s->text));
}
