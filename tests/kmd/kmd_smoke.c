// SPDX-License-Identifier: MIT
/* One job through the whole stack: check this test first when others fail. */
#include <string.h>

#include "kmd.h"

int main(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	uint8_t *data = env.data.map;
	unsigned int i;

	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "an empty program ends");
	for (i = 0; i < 256; i++)
		data[i] = i * 7 + 1;
	ok_ret(kmd_run(&env, kmd_program_copy(&env, KMD_DATA_VA, KMD_DATA_VA + 4096, 4)), 0,
	       "a copy of four lines ends");
	ok(!memcmp(data, data + 4096, 256), "the bytes are there");
	ok(!data[4096 + 256], "and no more");
	ok(kmd_ctx_query(env.fd, env.ctx).state == 0, "the context is healthy");
	kmd_env_free(&env);
	return done_testing();
}
