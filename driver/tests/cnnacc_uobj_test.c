// SPDX-License-Identifier: GPL-2.0-only
/* KUnit suite of the copies from and to user memory. */
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <kunit/test.h>

#include "../cnnacc_uobj.h"

/* An object as the kernel knows it; user space may know more fields or fewer. */
struct cnnacc_uobj_test_object {
	u32 a;
	u32 b;
};

static int cnnacc_uobj_test_init(struct kunit *test)
{
	unsigned long user = kunit_vm_mmap(test, NULL, 0, 4 * PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE(test, user, 0);
	KUNIT_ASSERT_LT(test, user, TASK_SIZE);
	test->priv = (void *)user;
	return 0;
}

static void cnnacc_uobj_test_set(struct kunit *test, unsigned int index, u32 value)
{
	u32 __user *words = (__force u32 __user *)test->priv;

	KUNIT_ASSERT_EQ(test, 0, put_user(value, words + index));
}

static u32 cnnacc_uobj_test_get(struct kunit *test, unsigned int index)
{
	u32 __user *words = (__force u32 __user *)test->priv;
	u32 value = 0;

	KUNIT_ASSERT_EQ(test, 0, get_user(value, words + index));
	return value;
}

static struct cnnacc_uobj_test_object *cnnacc_uobj_test_array(struct kunit *test, u32 stride,
							      u32 count, u64 address)
{
	struct drm_cnnacc_obj_array array = {
		.stride = stride, .count = count, .array = address,
	};

	return cnnacc_uobj_get_array(NULL, &array, 4, sizeof(struct cnnacc_uobj_test_object),
				     sizeof(struct cnnacc_uobj_test_object));
}

static void cnnacc_uobj_test_get_array(struct kunit *test)
{
	u64 user = (uintptr_t)test->priv;
	struct cnnacc_uobj_test_object *copy;
	unsigned int i;

	for (i = 0; i < 6; i++)
		cnnacc_uobj_test_set(test, i, i % 3 == 2 ? 0 : i + 1);
	copy = cnnacc_uobj_test_array(test, 12, 2, user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	KUNIT_EXPECT_EQ(test, copy[0].a, 1);
	KUNIT_EXPECT_EQ(test, copy[0].b, 2);
	KUNIT_EXPECT_EQ(test, copy[1].a, 4);
	KUNIT_EXPECT_EQ(test, copy[1].b, 5);
	kvfree(copy);
	KUNIT_EXPECT_NULL(test, cnnacc_uobj_test_array(test, 0, 0, 0));
}

static void cnnacc_uobj_test_bad_array(struct kunit *test)
{
	u64 user = (uintptr_t)test->priv;

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_uobj_test_array(test, 8, 5, user)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_uobj_test_array(test, 4, 1, user)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_uobj_test_array(test, PAGE_SIZE + 1, 1, user)),
			-E2BIG);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_uobj_test_array(test, 8, 1, 1)), -EFAULT);
	/* The last element is behind the end of the user's memory. */
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_uobj_test_array(test, 8, 2, user +
								     4 * PAGE_SIZE - 8)), -EFAULT);
	cnnacc_uobj_test_set(test, 2, 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_uobj_test_array(test, 12, 1, user)), -E2BIG);
}

/* A program that is older than the second member. */
static void cnnacc_uobj_test_old(struct kunit *test)
{
	const struct drm_cnnacc_obj_array array = {
		.stride = 4, .count = 2, .array = (uintptr_t)test->priv,
	};
	struct cnnacc_uobj_test_object *copy;

	cnnacc_uobj_test_set(test, 0, 1);
	cnnacc_uobj_test_set(test, 1, 2);
	KUNIT_ASSERT_EQ(test, cnnacc_uobj_get(NULL, &array, 4, &copy, a), 0);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_EXPECT_EQ(test, copy[0].a, 1);
	KUNIT_EXPECT_EQ(test, copy[0].b, 0);
	KUNIT_EXPECT_EQ(test, copy[1].a, 2);
	kvfree(copy);
}

static int cnnacc_uobj_test_put_two(struct drm_cnnacc_obj_array *array, u32 stride, u32 count,
				    u64 address)
{
	static const struct cnnacc_uobj_test_object objects[] = { { 11, 22 }, { 33, 44 } };

	*array = (struct drm_cnnacc_obj_array) {
		.stride = stride, .count = count, .array = address,
	};
	return cnnacc_uobj_put_array(NULL, array, objects, 2, sizeof(objects[0]));
}

static void cnnacc_uobj_test_put(struct kunit *test)
{
	static const struct {
		u32 stride, count, words[7];
	} cases[] = {
		{ 4, 2, { 11, 33, 99 } },
		{ 8, 2, { 11, 22, 33, 44, 99 } },
		{ 12, 2, { 11, 22, 0, 33, 44, 0, 99 } },
		{ 8, 3, { 11, 22, 33, 44, 99 } },
		{ 8, 1, { 11, 22, 99 } },
		{ 8, 0, { 99 } },
	};
	u64 user = (uintptr_t)test->priv;
	struct drm_cnnacc_obj_array array;
	unsigned int i, word;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (word = 0; word < 7; word++)
			cnnacc_uobj_test_set(test, word, 99);
		KUNIT_EXPECT_EQ(test, 0, cnnacc_uobj_test_put_two(&array, cases[i].stride,
								  cases[i].count, user));
		KUNIT_EXPECT_EQ(test, array.count, 2);
		KUNIT_EXPECT_EQ(test, array.stride, 8);
		for (word = 0; !word || cases[i].words[word - 1] != 99; word++)
			KUNIT_EXPECT_EQ(test, cnnacc_uobj_test_get(test, word),
					cases[i].words[word]);
	}
	KUNIT_EXPECT_EQ(test, cnnacc_uobj_test_put_two(&array, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_uobj_test_put_two(&array, 0, 1, user), -EINVAL);
	KUNIT_EXPECT_EQ(test, cnnacc_uobj_test_put_two(&array, PAGE_SIZE + 1, 1, user), -EINVAL);
	KUNIT_EXPECT_EQ(test, cnnacc_uobj_test_put_two(&array, 8, 1, 1), -EFAULT);
}

static struct kunit_case cnnacc_uobj_test_cases[] = {
	KUNIT_CASE(cnnacc_uobj_test_get_array),
	KUNIT_CASE(cnnacc_uobj_test_bad_array),
	KUNIT_CASE(cnnacc_uobj_test_old),
	KUNIT_CASE(cnnacc_uobj_test_put),
	{ }
};

static struct kunit_suite cnnacc_uobj_test_suite = {
	.name = "cnnacc_uobj",
	.init = cnnacc_uobj_test_init,
	.test_cases = cnnacc_uobj_test_cases,
};

kunit_test_suite(cnnacc_uobj_test_suite);
