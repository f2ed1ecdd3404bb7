// SPDX-License-Identifier: MIT
/* cnnquant as a program, of the objects that quant_mutate links; run by tests/tools/cnnquant.t. */

int cnnquant_main(int argc, char **argv);

int main(int argc, char **argv)
{
	return cnnquant_main(argc, argv);
}
