// SPDX-License-Identifier: MIT
#include "fields.h"

static int64_t extract(uint32_t word, const struct field *f)
{
	int64_t range = 1ll << (f->high - f->low + 1);
	int64_t value = (word >> f->low) % range;

	return f->sign && value >= range / 2 ? value - range : value;
}

uint32_t fields_reserved(const struct field_table *table, unsigned int group, unsigned int word)
{
	uint32_t reserved = 0xffffffff;

	for (unsigned int i = 0; i < table->count; i++) {
		const struct field *f = &table->field[i];

		for (unsigned int bit = f->low; bit <= f->high; bit++)
			if (f->group == group && f->word == word)
				reserved &= ~(1u << bit);
	}
	return reserved;
}

bool fields_decode(const struct field_table *table, unsigned int group, const uint32_t *words,
		   int64_t *value)
{
	bool good = true;

	for (unsigned int i = 0; i < table->count; i++) {
		const struct field *f = &table->field[i];

		if (f->group == group)
			value[f->name] = extract(words[f->word], f);
	}
	for (unsigned int word = 0; word < table->words; word++)
		good &= !(words[word] & fields_reserved(table, group, word));
	return good;
}
