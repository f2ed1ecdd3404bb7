/* SPDX-License-Identifier: MIT */
/* Access to the device without the driver. */
#ifndef RAW_H
#define RAW_H

#include <stdint.h>

#define HUGE	(2u << 20)

extern volatile uint32_t *regs;	/* BAR 0 */
extern uint8_t *mem;		/* one huge page that the device may reach */
extern uint64_t bus;		/* its bus address */

void die(const char *what);
void find_device(char dir[300]);
int open_in(const char *dir, const char *file, int flags);
void *map_bar(const char *dir, unsigned int bar, uint32_t size);
/* Sets the PCI command register: 2 memory, 4 bus master. */
void write_command(const char *dir, uint16_t command);
void map_device(const char *dir, int master);
void alloc_memory(void);

#endif
