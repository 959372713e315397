/* SPDX-License-Identifier: Apache-2.0 */
/* All registered ops as a serialized OpList (TF_GetAllOpList). */
#ifndef HR_OP_OP_LIST_H
#define HR_OP_OP_LIST_H
#include "op/registry.h"
#include "wire/writer.h"

HR_MUST_USE hr_status_t hr_op_list_encode(hr_writer_t* w); /* the message's body, in name order */
#endif
