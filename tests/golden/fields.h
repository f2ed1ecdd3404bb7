/* SPDX-License-Identifier: MIT */
/* Words decoded by a table of their bit fields. */
#ifndef GOLDEN_FIELDS_H
#define GOLDEN_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct field - bits @high:@low of a word.
 * @group: of words
 * @sign: the value is a two's complement number
 * @name: index of the decoded value
 */
struct field {
	uint8_t group, word, high, low;
	bool sign;
	uint8_t name;
};

/**
 * struct field_table - all fields of some groups of words.
 * @words: of each group
 */
struct field_table {
	const struct field *field;
	unsigned int count;
	unsigned int words;
};

/* Bits of a word that are in no field. */
uint32_t fields_reserved(const struct field_table *table, unsigned int group, unsigned int word);
/* Set value[name] for each field of a group; false if a reserved bit is set. */
bool fields_decode(const struct field_table *table, unsigned int group, const uint32_t *words,
		   int64_t *value);

#endif /* GOLDEN_FIELDS_H */
