/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_BALANCE_H
#define CNNACC_BALANCE_H

struct cnnacc_device;
struct cnnacc_job;

void cnnacc_balance_init(struct cnnacc_device *cdev);
void cnnacc_balance_charge(struct cnnacc_job *job);
void cnnacc_balance_discharge(struct cnnacc_job *job);
void cnnacc_balance_choose(struct cnnacc_job *job);

#endif
