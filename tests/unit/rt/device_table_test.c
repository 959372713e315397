/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of devices: what they must hold, how often a device is opened, what its failures say. The functions below do nothing but count. */
#include "rt/device_table.h"
#include "test.h"

static int opened, streams_made, events_made, events_gone, recorded, waited, freed, fails_at; /* fails_at: the n-th call that may fail */
static char device_memory[64];

static int count_call(const char** out_message) {
  if (--fails_at != 0) return 0;
  *out_message = "out of order";
  return 14; /* UNAVAILABLE */
}
static int fake_open(void* ext, int32_t ordinal, void** out_device, const char** out_message) {
  HR_CHECK(ext == device_memory);
  ++opened;
  *out_device = device_memory + ordinal;
  return count_call(out_message);
}
static int64_t fake_limit(void* device) { return 1000 + ((char*)device - device_memory); }
static void* fake_allocate(void* device, size_t bytes, const HR_AllocatorAttributes* attributes) {
  (void)device, (void)attributes;
  return bytes <= sizeof device_memory ? device_memory : NULL;
}
static void fake_deallocate(void* device, void* address) { freed += device == device_memory && address == device_memory; }
static int fake_stream(void* device, void** out_stream, const char** out_message) {
  *out_stream = (char*)device + 8 + streams_made++;
  return count_call(out_message);
}
static void fake_stream_end(void* device, void* stream) { (void)device, (void)stream; }
static int fake_event(void* device, void** out_event, const char** out_message) {
  ++events_made;
  *out_event = device;
  return count_call(out_message);
}
static void fake_event_end(void* device, void* event) { events_gone += device == event; }
static int fake_record(void* device, void* stream, void* event, const char** out_message) {
  recorded += device == event && stream == device_memory + 20;
  return count_call(out_message);
}
static int fake_wait(void* device, void* stream, void* event, const char** out_message) {
  waited += device == event && stream == device_memory + 30;
  return count_call(out_message);
}
static void fake_copy_in(void* device, void* stream, void* to, const void* from, size_t bytes, HR_DeviceDone done, void* arg) {
  (void)device, (void)stream, (void)to, (void)from, (void)bytes;
  done(arg, 0, NULL);
}
static void fake_copy_out(void* device, void* stream, void* to, const void* from, size_t bytes, HR_DeviceDone done, void* arg) {
  fake_copy_in(device, stream, to, from, bytes, done, arg);
}
static void fake_notify(void* device, void* stream, HR_DeviceDone done, void* arg) {
  (void)device, (void)stream;
  done(arg, 0, NULL);
}
static void fake_launch(void* device, void* stream, void (*kernel)(void*), void* arg, HR_DeviceDone done, void* done_arg) {
  (void)device, (void)stream;
  kernel(arg);
  done(done_arg, 0, NULL);
}
static void* fake_translate(void* device, const void* address) {
  (void)device;
  return (void*)(uintptr_t)address;
}

static HR_DeviceTable whole(const char* type, int32_t count) {
  return (HR_DeviceTable){HR_DEVICE_TABLE_SIZE, type, count, 0, device_memory, fake_open, fake_limit, fake_allocate, fake_deallocate,
                          fake_stream, fake_stream_end, fake_event, fake_event_end, fake_record, fake_wait, fake_copy_in, fake_copy_out,
                          fake_notify, fake_launch, fake_translate};
}

static void check_lacks(HR_DeviceTable t, const char* what) { HR_CHECK_CODE(hr_device_table_register(&t), HR_INVALID_ARGUMENT, what); }
#define LACKS(field, what)            \
  do {                                \
    HR_DeviceTable t = whole("T", 1); \
    t.field = NULL;                   \
    check_lacks(t, what);             \
  } while (0)

HR_TEST(what_a_table_lacks_is_named) {
  LACKS(open, "lacks open");
  LACKS(allocate, "lacks allocate and deallocate");
  LACKS(deallocate, "lacks allocate and deallocate");
  LACKS(stream_create, "lacks stream_create and stream_destroy");
  LACKS(stream_destroy, "lacks stream_create and stream_destroy");
  LACKS(event_create, "the four functions of events");
  LACKS(event_destroy, "the four functions of events");
  LACKS(event_record, "the four functions of events");
  LACKS(stream_wait, "the four functions of events");
  LACKS(copy_to_device, "the two copies");
  LACKS(copy_to_host, "the two copies");
  LACKS(launch_host, "one of launch_host and translate");
  LACKS(translate, "one of launch_host and translate");
  HR_DeviceTable t = whole("T", 1);
  t.stream_notify = NULL, t.launch_host = NULL, t.translate = NULL;
  check_lacks(t, "a way to run kernels");
  t = whole("T", 1);
  t.struct_size = offsetof(HR_DeviceTable, launch_host); /* of a library from before the last two: they are NULL, and that is enough */
  t.count = 1025;
  check_lacks(t, "has 1025 devices");
  t.struct_size = offsetof(HR_DeviceTable, stream_notify);
  t.count = 1;
  check_lacks(t, "a way to run kernels");
  t.struct_size = offsetof(HR_DeviceTable, open);
  check_lacks(t, "lacks open");
  t.struct_size = offsetof(HR_DeviceTable, open) - 1;
  check_lacks(t, "struct_size is not set");
  HR_CHECK_CODE(hr_device_table_register(NULL), HR_INVALID_ARGUMENT, "missing");
}

HR_TEST(types_are_words_and_counts_have_a_limit) {
  static const char* const bad[] = {"", "CPU", "cpu", "a b", "a:b", "a/b", "a@b", "a[b", "a`b", "a{b", "-", "a*"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) check_lacks(whole(bad[i], 1), "is not a device type");
  check_lacks(whole(NULL, 1), "'' is not a device type");
  check_lacks(whole("T", -1), "has -1 devices");
  check_lacks(whole("T", 1025), "has 1025 devices");
  HR_DeviceTable fine[] = {whole("_aZ09", 0), whole("Az", 0), whole("0", 0), whole("CPUS", 0), whole("Cpu", 0)};
  for (size_t i = 0; i < sizeof fine / sizeof *fine; ++i) {
    HR_CHECK_OK(hr_device_table_register(&fine[i]));
    HR_CHECK_CODE(hr_device_table_register(&fine[i]), HR_ALREADY_EXISTS, fine[i].type);
  }
}

static hr_status_t add_all(hr_device_set_t** out) {
  *out = NULL;
  HR_TRY(hr_device_set_create(out));
  HR_TRY(hr_device_set_add_cpus(*out, HR_STR(HR_DEVICE_LOCAL_TASK), 1, 1));
  return hr_device_table_add_all(*out, HR_STR(HR_DEVICE_LOCAL_TASK));
}

static void check_devices(const hr_device_set_t* s) { /* the CPU, then two each of Twin and Last */
  static const char* const names[] = {"CPU:0", "Twin:0", "Twin:1", "Last:0", "Last:1"};
  HR_REQUIRE(HR_CHECK_EQ_I64(s->count, 5));
  for (int i = 0; i < 5; ++i) {
    const hr_device_t* d = s->devices[i];
    HR_CHECK(strstr(d->name, names[i]) == d->name + strlen(HR_DEVICE_LOCAL_TASK "/device:"));
    HR_CHECK((d->table != NULL) == (i > 0) && !d->is_remote && d->incarnation == 1);
    HR_CHECK_EQ_I64(d->memory_limit, i == 0 ? HR_DEVICE_CPU_MEMORY : i < 3 ? 1000 + i - 1 : 0);
  }
}

HR_TEST(a_device_is_opened_once_and_again_when_that_failed) {
  enum { TWIN = 1 + 2 + HR_DEVICE_STREAMS }; /* what may fail: opening, and each stream */
  HR_DeviceTable twin = whole("Twin", 2), last = whole("Last", 2);
  hr_device_set_t* s;
  last.memory_limit = NULL;
  HR_REQUIRE_OK(hr_device_table_register(&twin));
  HR_REQUIRE_OK(hr_device_table_register(&last));
  static const char* const what[] = {"device Twin:0: opening it: out of order", "device Twin:0: making a stream: out of order"};
  for (int n = 1; n <= TWIN; ++n) {
    fails_at = n;
    HR_CHECK_CODE(add_all(&s), HR_UNAVAILABLE, what[n > 1]);
    HR_CHECK_EQ_I64(opened, n);
    hr_device_set_release(s);
  }
  fails_at = opened = streams_made = 0;
  HR_REQUIRE_OK(add_all(&s));
  check_devices(s);
  HR_CHECK_EQ_I64(opened, 4);
  HR_CHECK_EQ_I64(streams_made, 4 * (2 + HR_DEVICE_STREAMS));
  const hr_device_queues_t* q = hr_device_unit_queues(s->devices[2]->state);
  HR_CHECK(q->device == device_memory + 1 && q->table == s->devices[2]->table && q->in != q->out && q->streams[0] != q->streams[1]);
  hr_device_set_release(s);
  HR_REQUIRE_OK(add_all(&s));
  check_devices(s);
  HR_CHECK_EQ_I64(opened, 4); /* they stay open */
  hr_device_set_release(s);
}

HR_TEST(failures_have_the_code_that_the_device_gave) {
  hr_device_set_t* s;
  HR_REQUIRE_OK(add_all(&s));
  const hr_device_unit_t* u = s->devices[2]->state;
  HR_CHECK(hr_device_failure(u, "work", 0, "fine") == NULL);
  for (int code = -1; code <= 17; ++code) {
    if (code == 0) continue;
    hr_status_t status = hr_device_failure(u, "work", code, code == 1 ? NULL : "bad luck");
    HR_CHECK_EQ_I64(hr_status_code(status), code >= 1 && code <= 16 ? code : HR_INTERNAL);
    HR_CHECK_STR(hr_status_message(status), code == 1 ? "device Twin:1: work: no reason given" : "device Twin:1: work: bad luck");
    hr_status_release(status);
  }
  hr_device_set_release(s);
}

HR_TEST(one_stream_waits_for_another_by_an_event_that_goes) {
  static const char* const what[] = {"making an event: out of order", "recording an event: out of order",
                                     "waiting for an event: out of order"};
  hr_device_set_t* s;
  HR_REQUIRE_OK(add_all(&s));
  const hr_device_unit_t* u = s->devices[1]->state;
  HR_CHECK_OK(hr_device_unit_order(u, device_memory + 30, device_memory + 20));
  HR_CHECK(events_made == 1 && events_gone == 1 && recorded == 1 && waited == 1);
  for (int n = 1; n <= 3; ++n) {
    fails_at = n;
    HR_CHECK_CODE(hr_device_unit_order(u, device_memory + 30, device_memory + 20), HR_UNAVAILABLE, what[n - 1]);
    HR_CHECK_EQ_I64(events_gone, n); /* what was made is gone, the first of these was not */
  }
  HR_CHECK(recorded == 3 && waited == 2);
  fails_at = 0;
  hr_device_set_release(s);
}

HR_TEST(tensors_of_a_device_are_its_own) {
  hr_device_set_t* s;
  HR_REQUIRE_OK(add_all(&s));
  hr_device_unit_t* u = s->devices[1]->state;
  hr_tensor_t like = {0}, t = {0}, none = {0};
  hr_shape_t shape = hr_shape_vector(16);
  HR_REQUIRE_OK(hr_tensor_create(HR_F32, &shape, &like));
  HR_REQUIRE_OK(hr_device_unit_tensor(u, &like, &t));
  HR_CHECK(t.data == (void*)device_memory && t.dtype == HR_F32 && hr_shape_equal(&t.shape, &shape));
  HR_CHECK(hr_device_unit_owns(u, &t) && !hr_device_unit_owns(s->devices[2]->state, &t));
  HR_CHECK(!hr_device_unit_owns(u, &like) && !hr_device_unit_owns(u, &none));
  hr_tensor_release(&t);
  HR_CHECK_EQ_I64(freed, 1);
  hr_tensor_release(&like);
  shape = hr_shape_vector(17);
  HR_REQUIRE_OK(hr_tensor_create(HR_F32, &shape, &like));
  HR_CHECK_CODE(hr_device_unit_tensor(u, &like, &t), HR_RESOURCE_EXHAUSTED, "device Twin:0 has no 68 bytes left");
  hr_tensor_release(&like);
  hr_device_set_release(s);
}
HR_TEST_MAIN()
