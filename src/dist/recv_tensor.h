/* SPDX-License-Identifier: Apache-2.0 */
/* The two messages that carry tensors between tasks, RecvTensorRequest and RecvTensorResponse, both ways. A body above a kilobyte is a
 * slice of its own that shares the tensor's memory. */
#ifndef HR_DIST_RECV_TENSOR_H
#define HR_DIST_RECV_TENSOR_H
#include "dist/transport.h"
#include "tensor/tensor.h"

typedef struct {
  hr_str_t key;
  int64_t step_id, request_id;
} hr_recv_tensor_request_t;
HR_MUST_USE hr_status_t hr_recv_tensor_request(const hr_recv_tensor_request_t* q, hr_message_t* out);
/* The key lies in the message or in scratch (the caller's). */
HR_MUST_USE hr_status_t hr_recv_tensor_read_request(const hr_message_t* m, hr_strbuf_t* scratch, hr_recv_tensor_request_t* out);

/* `value` is shared; a dead one goes as an empty float. */
HR_MUST_USE hr_status_t hr_recv_tensor_answer(const hr_tensor_t* value, bool is_dead, int64_t send_start_micros, hr_message_t* out);
/* *out_ack: the sender keeps the value until MarkRecvFinished. */
HR_MUST_USE hr_status_t hr_recv_tensor_read_answer(const hr_message_t* m, hr_tensor_t* out, bool* out_is_dead, bool* out_ack);
#endif
