/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs of TensorFlow's that gave wrong values or killed the process in one op; a test a row of docs/known-bugs-avoided.md. */
#include "bug.h"

TEST(b01_smallest_integer_by_minus_one) {
  VALUE("int64[1] -9223372036854775808", "FloorDiv", "", "int64[1] -9223372036854775808", "int64[1] -1");
  VALUE("int64[1] 0", "FloorMod", "", "int64[1] -9223372036854775808", "int64[1] -1");
  VALUE("int64[1] -9223372036854775808", "TruncateDiv", "", "int64[1] -9223372036854775808", "int64[1] -1");
  VALUE("int32[1] -2147483648", "FloorDiv", "", "int32[1] -2147483648", "int32[1] -1");
  VALUE("int32[1] 0", "FloorMod", "", "int32[1] -2147483648", "int32[1] -1");
  VALUE("int32[1] -2147483648", "TruncateDiv", "", "int32[1] -2147483648", "int32[1] -1");
  VALUE("int32[1] 0", "TruncateMod", "", "int32[1] -2147483648", "int32[1] -1");
  VALUE("int8[1] -128", "TruncateDiv", "", "int8[1] -128", "int8[1] -1");
  REFUSED(TF_INVALID_ARGUMENT, "zero", "FloorDiv", "", "int32[1] 7", "int32[1] 0");
}

TEST(b03_floor_of_a_denormal_quotient) {
  VALUE("float[2] -1 -1", "FloorDiv", "", "float[2] 1e-38 1e-37", "float[2] -2 -2");
  VALUE("double[1] -1", "FloorDiv", "", "double[1] 3e-308", "double[1] -2");
}

TEST(b05_reductions_of_nothing) {
  VALUE("float[2] -inf -inf", "Max", "", "float[0,2]", "int32[1] 0");
  VALUE("float[2] inf inf", "Min", "", "float[0,2]", "int32[1] 0");
  VALUE("float[2] 0 0", "Sum", "", "float[0,2]", "int32[1] 0");
  VALUE("float[2] 1 1", "Prod", "", "float[0,2]", "int32[1] 0");
  VALUE("float[2] nan nan", "Mean", "", "float[0,2]", "int32[1] 0");
  VALUE("int32[2] -2147483648 -2147483648", "Max", "", "int32[0,2]", "int32[1] 0");
}

TEST(b07_max_pooling_keeps_nan) {
  const char* pool = "ksize=[1,1,2,1]; strides=[1,1,2,1]; padding='VALID'";
  VALUE("double[1,1,1,3] nan nan nan", "MaxPool", pool, "double[1,1,2,3] 3 3 3 nan nan nan");
  VALUE("float[1,1,1,5] nan nan nan nan nan", "MaxPool", pool, "float[1,1,2,5] nan nan nan nan nan nan nan nan nan nan");
}

TEST(b09_segment_maximum_keeps_nan) {
  VALUE("float[5] -3.40282347e38 10 nan -78 -3.40282347e38", "UnsortedSegmentMax", "", "float[3] 10 nan -78", "int32[3] 1 2 3",
        "int32[] 5");
}

/* One table for kernel and folding: NaN and what is out of range give the smallest integer of a signed type of 32 or 64 bits. */
TEST(b11_casts_out_of_range_agree) {
  VALUE("int32[3] -2147483648 -2147483648 -2147483648", "Cast", "DstT=int32", "float[3] nan inf 1e20");
  VALUE("int64[2] -9223372036854775808 -9223372036854775808", "Cast", "DstT=int64", "float[2] nan 1e20");
  VALUE("uint8[2] 255 7", "Cast", "DstT=uint8", "float[2] -1 7");
}

TEST(b13_gather_refuses_bad_indices) {
  REFUSED(TF_INVALID_ARGUMENT, "indices[1] = 7 is not in [0, 3)", "Gather", "", "float[3] 10 20 30", "int32[2] 0 7");
  REFUSED(TF_INVALID_ARGUMENT, "-1", "GatherV2", "batch_dims=1", "float[2,2] 1 2 3 4", "int32[2,1] 0 -1", "int32[] 1");
}

TEST(b17_segments_with_negative_ids) {
  VALUE("float[2] 1 0", "UnsortedSegmentSum", "", "float[2] 1 5", "int32[2] 0 -1", "int32[] 2");
  REFUSED(TF_INVALID_ARGUMENT, "-1", "UnsortedSegmentSum", "", "float[2] 1 5", "int32[2] 0 1", "int32[] -1");
  REFUSED(TF_INVALID_ARGUMENT, "-67794891775896", "UnsortedSegmentSum", "", "float[2] 1 5", "int32[2] 0 1", "int64[] -67794891775896");
}

TEST(b19_permutations_are_checked) {
  REFUSED(TF_INVALID_ARGUMENT, "-10", "Transpose", "", "float[4] 1 2 3 4", "int32[1] -10");
  REFUSED(TF_INVALID_ARGUMENT, "", "Transpose", "", "float[2,2] 1 2 3 4", "int32[2] 0 0");
}

TEST(b21_products_of_dimensions_do_not_overflow) {
  REFUSED(TF_INVALID_ARGUMENT, "", "Reshape", "", "float[1] 1", "int64[2] 4294967296 4294967296");
  REFUSED(TF_INVALID_ARGUMENT, "", "Fill", "", "int64[2] 4294967296 4294967296", "float[] 1");
  REFUSED(TF_INVALID_ARGUMENT, "", "Fill", "", "int32[1] -1", "float[] 1");
  REFUSED(TF_INVALID_ARGUMENT, "", "BroadcastTo", "", "float[1] 1", "int64[2] 4294967296 4294967296");
  REFUSED(TF_INVALID_ARGUMENT, "", "Tile", "", "float[2,2] 1 2 3 4", "int64[2] 4611686018427387904 4611686018427387904");
  REFUSED(TF_INVALID_ARGUMENT, "", "Pad", "", "float[1,1] 1", "int64[2,2] 0 9223372036854775807 0 9223372036854775807");
  REFUSED(TF_INVALID_ARGUMENT, "", "RandomUniform", "dtype=float", "int64[2] 4294967296 4294967296");
}

TEST(b23_range_with_a_huge_step) { VALUE("int64[1] 0", "Range", "", "int64[] 0", "int64[] 137", "int64[] 9223372036854775672"); }

TEST(b25_range_with_a_rounded_step) {
  bug_t b = bug_open(false);
  TF_Output in[3] = {bug_value(&b, "float[] 0"), bug_value(&b, "float[] 379"), bug_value(&b, "float[] 4.03191471")};
  TF_Tensor* got = bug_fetch(&b, bug_op(&b, "Range", "", 3, in));
  CHECK_TF_OK(b.s);
  if (CHECK(got != NULL)) CHECK_INT(TF_TensorElementCount(got), 95);
  TF_DeleteTensor(got);
  bug_close(&b);
}

TEST(b27_negative_strides) {
  VALUE("float[1,0,3]", "StridedSlice", "", "float[3,2,3] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "int32[3] 1 1 0",
        "int32[3] 2 -1 3", "int32[3] 1 -1 1");
  VALUE("float[] 4", "StridedSlice", "shrink_axis_mask=1", "float[4] 1 2 3 4", "int32[1] -1", "int32[1] 0", "int32[1] 1");
}

TEST(b35_cross_entropy_of_no_rows) {
  VALUE("float[0]", "SoftmaxCrossEntropyWithLogits", "", "float[0,10]", "float[0,10]");
  VALUE("float[0,10]", "SoftmaxCrossEntropyWithLogits:1", "", "float[0,10]", "float[0,10]");
}

TEST(b37_convolution_strides_beyond_the_kernel) {
  const char* same = "strides=[1,2,2,1]; padding='SAME'";
  VALUE("float[1,2,2,1] 1 3 7 9", "Conv2D", same, "float[1,3,3,1] 1 2 3 4 5 6 7 8 9", "float[1,1,1,1] 1");
  VALUE("float[1,2,2,1] 1 3 9 11", "Conv2D", same, "float[1,4,4,1] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", "float[1,1,1,1] 1");
  VALUE("float[1,1,1,1] 1", "Conv2D", "strides=[1,3,3,1]; padding='SAME'", "float[1,3,1,1] 1 1.1 1.2", "float[1,1,1,1] 1");
}

TEST(b39_the_index_of_a_maximum_leaves_out_the_batch) {
  const char* images = "float[2,2,2,1] 1 4 3 2 5 6 7 8";
  VALUE("int64[2,1,1,1] 1 3", "MaxPoolWithArgmax:1", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding='VALID'", images);
  VALUE("int64[2,1,1,1] 1 7", "MaxPoolWithArgmax:1", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding='VALID'; include_batch_in_index=true",
        images);
}

TEST(b41_pooling_checks_its_parameters) {
  const char* volume = "float[1,1,1,1,1] 1";
  REFUSED(TF_INVALID_ARGUMENT, "", "AvgPool3D", "ksize=[1,1,1,1,1]; strides=[1,0,1,1,1]; padding='VALID'", volume);
  REFUSED(TF_INVALID_ARGUMENT, "", "MaxPool", "ksize=[1,1,1,1]; strides=[1,0,1,1]; padding='VALID'", "float[1,1,1,1] 1");
  REFUSED(TF_INVALID_ARGUMENT, "", "MaxPool", "ksize=[1,0,1,1]; strides=[1,1,1,1]; padding='VALID'", "float[1,1,1,1] 1");
  REFUSED(TF_INVALID_ARGUMENT, "", "MaxPool3DGradGrad", "ksize=[1,1,1,1,1]; strides=[1,1,1,1,1]; padding='VALID'",
          "float[11,1,1,1,1] 1 1 1 1 1 1 1 1 1 1 1", volume, volume);
  REFUSED(TF_INVALID_ARGUMENT, "", "MaxPool3DGradGrad", "ksize=[1,1,1,1,1]; strides=[1,1,1,1,1]; padding='VALID'", volume, volume,
          "float[0,0,0,0,0]");
}

/* Statistics of no elements are NaN, what the gradient would take of them 0. */
TEST(b43_batch_norm_of_no_images) {
  const char* v = "float[3] 1 1 1";
  VALUE("float[0,2,2,3]", "FusedBatchNorm", "is_training=true", "float[0,2,2,3]", v, v, "float[0]", "float[0]");
  VALUE("float[0,2,2,3]", "FusedBatchNorm", "is_training=false", "float[0,2,2,3]", v, v, v, v);
  VALUE("float[3] nan nan nan", "FusedBatchNorm:1", "is_training=true", "float[0,2,2,3]", v, v, "float[0]", "float[0]");
  VALUE("float[3] nan nan nan", "FusedBatchNorm:2", "is_training=true", "float[0,2,2,3]", v, v, "float[0]", "float[0]");
  VALUE("float[3] 0 0 0", "FusedBatchNorm:3", "is_training=true", "float[0,2,2,3]", v, v, "float[0]", "float[0]");
  VALUE("float[3] 0 0 0", "FusedBatchNorm:1", "is_training=false", "float[0,2,2,3]", v, v, v, v);
}

TEST(b49_reverse_sequence_checks_lengths) {
  const char* x = "float[2,3] 1 2 3 4 5 6";
  REFUSED(TF_INVALID_ARGUMENT, "", "ReverseSequence", "seq_dim=1", x, "int32[2] -1 2");
  REFUSED(TF_INVALID_ARGUMENT, "", "ReverseSequence", "seq_dim=1", x, "int32[2] 1 4");
  REFUSED(TF_INVALID_ARGUMENT, "", "ReverseSequence", "seq_dim=-1", x, "int32[2] 1 2");
}

/* d/dx select(x > 0, 0, exp x) at 1e10: 0 * infinity is NaN, as TensorFlow decided, not a silent 0. */
TEST(b53_select_gives_nan_from_the_branch_not_taken) {
  bug_t b = bug_open(true);
  TF_Output x = bug_value(&b, "float[1] 1e10"), zero = bug_value(&b, "float[1] 0"), dx = {NULL, 0};
  TF_Output positive = bug_op(&b, "Greater", "", 2, (TF_Output[]){x, zero}), power = bug_op(&b, "Exp", "", 1, &x);
  TF_Output y = bug_op(&b, "Select", "", 3, (TF_Output[]){positive, zero, power});
  if (bug_ok(&b)) TF_AddGradients(b.g, &y, 1, &x, 1, NULL, b.s, &dx);
  TF_Tensor *value = bug_fetch(&b, y), *slope = bug_fetch(&b, dx);
  if (CHECK_TF_OK(b.s)) SAME(value, "float[1] 0"), SAME(slope, "float[1] nan");
  TF_DeleteTensor(value);
  TF_DeleteTensor(slope);
  bug_close(&b);
}

/* Creation of a scalar from no bytes fails, so nothing reads it. */
TEST(b95_a_scalar_of_no_bytes_is_no_tensor) {
  CHECK(TF_NewTensor(TF_FLOAT, NULL, 0, NULL, 0, NULL, NULL) == NULL);
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, NULL, 0, 0);
  CHECK(t == NULL || TF_TensorByteSize(t) == 4);
  TF_DeleteTensor(t);
}

static TF_Output cast_to(bug_t* b, TF_Output x, TF_DataType type) {
  TF_OperationDescription* d = bug_begin(b, "Cast", "");
  TF_AddInput(d, x);
  TF_SetAttrType(d, "DstT", type);
  return (TF_Output){TF_FinishOperation(d, b->s), 0};
}
TEST(integers_of_four_bits_wrap) {
  for (int feeds = 0; feeds < 2; ++feeds) {
    bug_t b = bug_open(feeds);
    TF_Output x = bug_value(&b, "int32[6] 9 -9 7 -8 16 -1");
    TF_Output ways[] = {cast_to(&b, cast_to(&b, x, TF_INT4), TF_INT32), cast_to(&b, cast_to(&b, x, TF_UINT4), TF_INT64)};
    TF_Tensor *got_s = bug_fetch(&b, ways[0]), *got_u = bug_fetch(&b, ways[1]);
    if (!CHECK(bug_ok(&b))) fprintf(stderr, "%s\n", TF_Message(b.s));
    SAME(got_s, "int32[6] -7 7 7 -8 0 -1");
    SAME(got_u, "int64[6] 9 7 7 8 0 15");
    TF_DeleteTensor(got_s);
    TF_DeleteTensor(got_u);
    bug_close(&b);
  }
}

/* TensorFlow has this right: a branch not taken brings no NaN into the gradient. */
TEST(no_gradient_in_gives_none_out) {
  static const char* const ops[] = {"SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    VALUE("float[9] 0 0 0 0 0 0 0 0 0", ops[i], "", "float[9] nan 0 inf -inf 2 nan nan nan nan", "float[9] 0 0 0 0 0 0 0 0 0");
    VALUE("double[3] 0 0 0", ops[i], "", "double[3] nan inf 0", "double[3] 0 0 -0");
  }
  VALUE("float[1] 0.25", "SqrtGrad", "", "float[1] 2", "float[1] 1");
  VALUE("float[1] -4", "ReciprocalGrad", "", "float[1] 2", "float[1] 1");
}
TEST_MAIN()
