/* SPDX-License-Identifier: Apache-2.0 */
/* A device of one's own, in a shared library: memory that host code does not read, streams of work that ends late. The library includes
 * this header alone and exports
 *
 *   const HR_DeviceTable* HR_InitDevice(void);
 *
 * HR_LoadDeviceLibrary (headrace/session.h) opens it; sessions made afterwards list its devices behind the CPUs, as
 * /job:localhost/replica:0/task:0/device:TYPE:N. Nodes that ask for one, and whose values are plain bytes that follow from their inputs,
 * run there, by a kernel of the device's own (tensorflow/c/kernels.h) or by the host's; everything else of a graph stays on the host, and
 * values are copied where they cross.
 *
 * Rules. Every function may be called from any thread, also at the same time. Work on one stream happens in the order in which it was
 * given; streams run beside each other unless events order them. What is asynchronous returns at once and ends by `done`, exactly once, on
 * any thread, in which no function of the same stream that waits may be called. Addresses of device memory are the device's: the host
 * passes them around and adds to them, and never reads or writes there. Codes are TensorFlow's (0: OK); messages are static or live until
 * the thread's next call. */
#ifndef HEADRACE_DEVICE_H_
#define HEADRACE_DEVICE_H_
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*HR_DeviceDone)(void* arg, int code, const char* message);

typedef struct {
  size_t struct_size;
  unsigned char on_host;         /* memory of the host's that the device can copy from and to without a stop */
  unsigned char nic_compatible;  /* will be sent to another task */
} HR_AllocatorAttributes;

/* `ext` is the table's own; `device` what open gave. Functions marked with * may be NULL. */
typedef struct HR_DeviceTable {
  size_t struct_size;            /* sizeof(HR_DeviceTable) as the library was compiled with: what is beyond is taken for NULL */
  const char* type;              /* "GPU": letters, digits, underscores */
  int32_t count;                 /* devices of this type */
  int32_t priority;              /* above 0: preferred to the CPU by nodes that ask for nothing and can run there */
  void* ext;

  /* Life. A device is opened once a process, when the first session lists it, and never closed while the process lives. */
  int (*open)(void* ext, int32_t ordinal, void** out_device, const char** out_message);
  int64_t (*memory_limit)(void* device); /* * bytes */

  /* Memory. NULL: there is none left. Aligned to 64; attributes may be NULL. */
  void* (*allocate)(void* device, size_t bytes, const HR_AllocatorAttributes* attributes);
  void (*deallocate)(void* device, void* address);

  /* Streams and events. An event stands for all that was on the stream when it was recorded. */
  int (*stream_create)(void* device, void** out_stream, const char** out_message);
  void (*stream_destroy)(void* device, void* stream); /* what is on it ends first */
  int (*event_create)(void* device, void** out_event, const char** out_message);
  void (*event_destroy)(void* device, void* event);   /* also before what it stands for has ended */
  int (*event_record)(void* device, void* stream, void* event, const char** out_message);
  int (*stream_wait)(void* device, void* stream, void* event, const char** out_message); /* later work on the stream waits for the event */

  /* Copies, in stream order. Host memory stays where it is until `done`. */
  void (*copy_to_device)(void* device, void* stream, void* to, const void* from_host, size_t bytes, HR_DeviceDone done, void* arg);
  void (*copy_to_host)(void* device, void* stream, void* to_host, const void* from, size_t bytes, HR_DeviceDone done, void* arg);

  /* * Kernels of the device's own (TF_NewKernelBuilder with its type) put their work on a stream and return: `done` is called when all that
   * the stream has been given so far has ended. NULL: the device has no kernels of its own. */
  void (*stream_notify)(void* device, void* stream, HR_DeviceDone done, void* arg);

  /* * A device can also run the host's kernels, in stream order, on a thread that sees the device's memory: `kernel` is called there, and
   * `translate` says at which address that thread finds what the device calls `address`. Both NULL: it runs its own kernels only. */
  void (*launch_host)(void* device, void* stream, void (*kernel)(void* arg), void* arg, HR_DeviceDone done, void* done_arg);
  void* (*translate)(void* device, const void* address);
} HR_DeviceTable;

#define HR_DEVICE_TABLE_SIZE sizeof(HR_DeviceTable)
typedef const HR_DeviceTable* (*HR_InitDeviceFn)(void);

#ifdef __cplusplus
}
#endif
#endif
