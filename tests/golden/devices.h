/* SPDX-License-Identifier: Apache-2.0 */
/* Golden cases on other devices: the nodes of a case's graph get devices from a list, in turn, and what cannot lie there goes where soft
 * placement puts it. */
#ifndef GOLDEN_DEVICES_H
#define GOLDEN_DEVICES_H
#include <stddef.h>

/* A copy of a GraphDef whose nodes ask for the devices of a comma-separated list in turn; free it. NULL: out of memory, or no GraphDef. */
char* golden_devices_give(const char* graph, size_t size, const char* list, size_t* out_size);
/* HR_LoadDeviceLibrary of the library under test; prints why not and gives 0. */
int golden_devices_load(const char* path);
#endif
