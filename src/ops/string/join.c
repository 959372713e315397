/* SPDX-License-Identifier: Apache-2.0 */
/* StringJoin: element by element, the inputs' strings with the separator between them; scalars go with every element. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_StringJoin;

static hr_status_t infer_join(hr_infer_t* s) {
  const hr_pshape_t* shape = &hr_pshape_scalar;
  bool open = false; /* an input of unknown rank may be the scalar or the shape */
  for (int i = 0; i < hr_infer_input_count(s); ++i) {
    const hr_pshape_t* in = hr_infer_input(s, i);
    if (in->rank < 0)
      open = true;
    else if (in->rank > 0 && shape->rank == 0)
      shape = in;
    else if (in->rank > 0)
      HR_TRY(hr_infer_merge(s, shape, in, &shape));
  }
  hr_infer_set(s, 0, open && shape->rank == 0 ? &hr_pshape_unknown : shape);
  return NULL;
}

static hr_status_t join_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(hr_str_t*)prepared = hr_attrs_str(p->attrs, "separator");
  return NULL;
}

static hr_status_t join_shape(const hr_kernel_ctx_t* k, hr_shape_t* out) {
  *out = hr_shape_scalar();
  for (int i = 0; i < hr_input_count(k); ++i) {
    const hr_shape_t* s = &hr_input(k, i)->shape;
    char text[HR_SHAPE_TEXT], other[HR_SHAPE_TEXT];
    if (s->rank == 0) continue;
    if (out->rank == 0)
      hr_shape_copy(out, s);
    else if (!hr_shape_equal(out, s))
      return HR_ERROR(INVALID_ARGUMENT, "Input shapes do not match: input %d has %s, another %s", i,
                      hr_shape_format(s, text), hr_shape_format(out, other));
  }
  return NULL;
}

static hr_status_t join(hr_kernel_ctx_t* k) {
  const hr_str_t separator = *(const hr_str_t*)hr_prepared(k);
  hr_shape_t shape;
  hr_tensor_t* out;
  hr_strbuf_t text;
  HR_TRY(join_shape(k, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  hr_strbuf_init(&text);
  hr_status_t status = NULL;
  for (int64_t i = 0; !status && i < out->count; ++i) {
    text.size = 0;
    for (int j = 0; j < hr_input_count(k); ++j) {
      const hr_tensor_t* t = hr_input(k, j);
      if (j > 0) hr_strbuf_add_str(&text, separator);
      hr_strbuf_add_str(&text, hr_tstring_get((const hr_tstring_t*)t->data + (t->shape.rank ? i : 0)));
    }
    status = text.failed ? hr_status_out_of_memory() : hr_tstring_set((hr_tstring_t*)out->data + i, hr_strbuf_view(&text));
  }
  hr_strbuf_deinit(&text);
  return status;
}

const hr_op_t hr_op_StringJoin = {
    .name = "StringJoin",
    .sig = "inputs: N*string -> output: string",
    .attrs = "N: int >= 0; separator: string = ''",
    .shape = infer_join,
    .grad = hr_grad_none,
    HR_KERNELS(
        {.host_inputs = UINT32_MAX, .host_outputs = 1, .prepared_bytes = sizeof(hr_str_t), .prepare = join_prepare, .compute = join}),
    .doc = "strings joined element by element",
    HR_HERE};
