/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels say of inputs of the wrong shape: programs written for TensorFlow (its own tests too) look for these words. Inputs are fed,
 * so that only the kernel sees them. */
#include "bug.h"

static void worded_check(int line, const char* text, const char* op, const char* attrs, const char* const* in, int count) {
  bug_t b = bug_open(true);
  TF_Output out = bug_node(&b, op, attrs, in, count);
  TF_Tensor* got = bug_fetch(&b, out);
  if (TF_GetCode(b.s) != TF_INVALID_ARGUMENT || !strstr(TF_Message(b.s), text))
    test_fail(__FILE__, line, "%s: code %d \"%s\", not \"%s\"", op, (int)TF_GetCode(b.s), TF_Message(b.s), text);
  TF_DeleteTensor(got);
  bug_close(&b);
}
#define WORDED(text, op, attrs, ...) worded_check(__LINE__, text, op, attrs, BUG_TEXTS(__VA_ARGS__))

TEST(shapes_and_axes) {
  WORDED("Tried to expand dim index 3 for tensor with 2 dimensions", "ExpandDims", "", "float[1,2] 1 2", "int32[] 3");
  WORDED("'dim' must be a tensor with a single value", "ExpandDims", "", "float[1,2] 1 2", "int32[2] 0 1");
  WORDED("Tried to squeeze dim index -3 for tensor with 2 dimensions", "Squeeze", "squeeze_dims=[-3]", "float[1,2] 1 2");
  WORDED("axis = 1 not in [-1, 1)", "Unpack", "num=2; axis=1", "float[2] 1 2");
  WORDED("axis = 0 not in [0, 0)", "Unpack", "num=2; axis=0", "float[] 1");
  WORDED("Input shape axis 0 must equal 2, got shape [3]", "Unpack", "num=2", "float[3] 1 2 3");
  WORDED("1 is missing from perm", "Transpose", "", "float[1,2] 1 2", "int32[2] 0 0");
  WORDED("invert_permutation expects a 1D vector", "InvertPermutation", "", "int32[1,2] 0 1");
  WORDED("Expected size[0] in [0, 3], but got 4", "Slice", "", "float[4] 1 2 3 4", "int32[1] 1", "int32[1] 4");
  WORDED("1-D tensors of size 1, but got shapes [2] and [1] instead", "Slice", "", "float[1] 1", "int32[2] 0 0", "int32[1] 1");
  WORDED("Index out of range using input dim 1; input has only 1 dims", "StridedSlice", "", "float[1] 1", "int32[2] 0 0", "int32[2] 1 1",
         "int32[2] 1 1");
  WORDED("Attempting to slice scalar input.", "StridedSlice", "", "float[] 1", "int32[1] 0", "int32[1] 1", "int32[1] 1");
  WORDED("vector of length 1 but got length 2", "Tile", "", "float[1] 1", "int32[2] 1 1");
  WORDED("Expected multiples to be 1-D, but got shape [1,1]", "Tile", "", "float[1] 1", "int32[1,1] 1");
  WORDED("Incompatible shapes: [3] vs. [2]", "BroadcastTo", "", "float[3] 1 2 3", "int32[1] 2");
  WORDED("Rank of input (2) must be no greater than rank of output shape (1)", "BroadcastTo", "", "float[1,1] 1", "int32[1] 1");
  WORDED("dims must represent a vector, got shape [1,1]", "Fill", "", "int32[1,1] 1", "float[] 1");
  WORDED("value must represent a scalar, got shape [2]", "Fill", "", "int32[1] 1", "float[2] 1 1");
  WORDED("limit must be a scalar, not shape [2]", "Range", "", "int32[] 0", "int32[2] 1 2", "int32[] 1");
  WORDED("num must be a scalar, not shape [1]", "LinSpace", "", "float[] 0", "float[] 1", "int32[1] 3");
  char ones[16 + 2 * 254] = "int32[254]";
  for (int i = 0; i < 254; ++i) strcat(ones, " 1");
  WORDED("too many dimensions: must be < 254, but received 254", "Reshape", "", "float[1] 1", ones);
  WORDED("depth must be non-negative, got: -1", "OneHot", "", "int32[1] 0", "int32[] -1", "float[] 1", "float[] 0");
  WORDED("is not compatible with expected shape [2]", "EnsureShape", "shape=<2>", "float[3] 1 2 3");
  WORDED("Input rank should be 4 instead of 3", "SpaceToDepth", "block_size=2", "float[1,2,2] 1 2 3 4");
}

TEST(indices_and_rows) {
  WORDED("params is empty.  Params shape: [0]", "GatherNd", "", "float[0]", "int32[1,1] 0");
  WORDED("axis must be scalar", "GatherV2", "", "float[1] 1", "int32[1] 0", "int32[2] 0 0");
  WORDED("Shape must be at least rank 2 but is rank 1", "GatherV2", "", "float[1] 1", "int32[1] 0", "int32[] -2");
  WORDED("Expected batch_dims in the range [-1, 1], but got 7", "GatherV2", "batch_dims=7", "float[1] 1", "int32[1] 0", "int32[] 0");
  WORDED("params.shape[0]: 2 should be equal to indices.shape[0]: 1", "GatherV2", "batch_dims=1", "float[2,1] 1 2", "int32[1,1] 0",
         "int32[] 1");
  WORDED("Dimensions [1,2) of input[shape=[3,2]] must match dimensions [1,2) of updates[shape=[1,3]]", "ScatterNd", "", "int32[1,1] 0",
         "float[1,3] 1 2 3", "int32[2] 3 2");
  WORDED("Dimensions [0,1) of indices[shape=[2,1]] must match dimensions [0,1) of updates[shape=[3]]", "ScatterNd", "", "int32[2,1] 0 1",
         "float[3] 1 2 3", "int32[1] 3");
  WORDED("Output must be at least 1-D", "TensorScatterUpdate", "", "float[] 0", "int32[1,1] 0", "float[1] 1");
  WORDED("Indices and updates specified for empty output", "ScatterNd", "", "int32[1,1] 0", "float[1] 1", "int32[1] 0");
  WORDED("batch_dim == seq_dim == 0", "ReverseSequence", "seq_dim=0; batch_dim=0", "float[1,1] 1", "int32[1] 1");
  WORDED("seq_dim must be < input rank (3 vs. 2)", "ReverseSequence", "seq_dim=3", "float[1,1] 1", "int32[1] 1");
  WORDED("batch_dim must be < input rank (3 vs. 2)", "ReverseSequence", "seq_dim=1; batch_dim=3", "float[1,1] 1", "int32[1] 1");
  WORDED("Length of seq_lengths != input.dims(0), (2 vs. 1)", "ReverseSequence", "seq_dim=1", "float[1,1] 1", "int32[2] 1 1");
  WORDED("seq_lens(0) < 0", "ReverseSequence", "seq_dim=1", "float[1,1] 1", "int32[1] -1");
  WORDED("seq_lens(0) > input.dims(1)", "ReverseSequence", "seq_dim=1", "float[1,1] 1", "int32[1] 2");
  WORDED("unique expects a 1D vector", "Unique", "", "int32[1,1] 1");
  WORDED("axis has to be between [-1, 1)", "UniqueV2", "", "int32[1] 1", "int64[1] 1");
  WORDED("y should be a 1D vector", "ListDiff", "", "int32[1] 1", "int32[1,1] 1");
  WORDED("Segment id -1 out of range [0, 1), possibly because 'segment_ids' input is not sorted", "SegmentSum", "", "float[2] 1 2",
         "int32[2] -1 0");
  WORDED("Segment id 1 out of range [0, 1), possibly because 'segment_ids' input is not sorted", "SegmentSum", "", "float[4] 1 2 3 4",
         "int32[4] 0 1 2 0");
  WORDED("segment ids are not increasing", "SegmentMax", "", "float[4] 1 2 3 4", "int32[4] 0 1 0 1");
  WORDED("segment ids must be >= 0", "SegmentProd", "", "float[4] 1 2 3 4", "int32[4] 0 0 0 -1");
  WORDED("indices should be a vector", "SparseSegmentSum", "", "float[1,1] 1", "int32[1,1] 0", "int32[1] 0");
  WORDED("Input num_segments == -1 must not be negative", "UnsortedSegmentSum", "", "float[1] 1", "int32[1] 0", "int32[] -1");
  WORDED("num_segments should be a scalar, not shape [1]", "UnsortedSegmentSum", "", "float[1] 1", "int32[1] 0", "int32[1] 1");
  WORDED("k must be scalar, got shape [1]", "TopKV2", "", "float[1] 1", "int32[1] 1");
  WORDED("input must be >= 1-D, got shape []", "TopKV2", "", "float[] 1", "int32[] 1");
  WORDED("predictions must be 2-dimensional", "InTopKV2", "", "float[1] 1", "int32[1] 0", "int32[] 1");
  WORDED("targets must be 1-dimensional", "InTopKV2", "", "float[1,1] 1", "int32[1,1] 0", "int32[] 1");
  WORDED("Reduction axis 0 is empty in shape [0,1]", "ArgMax", "", "float[0,1]", "int32[] 0");
}

TEST(matrices_and_diagonals) {
  WORDED("In[0] ndims must be >= 2: 1", "BatchMatMulV2", "", "float[1] 1", "float[1,1] 1");
  WORDED("In[1] ndims must be >= 2", "MatMul", "", "float[1,1] 1", "float[1] 1");
  WORDED("input must be at least 2-dim, received shape: [1]", "MatrixBandPart", "", "float[1] 1", "int64[] 0", "int64[] 0");
  WORDED("negative or less or equal to number of rows (1) got: 2", "MatrixBandPart", "", "float[1,1] 1", "int64[] 2", "int64[] 0");
  WORDED("negative or less or equal to number of columns (1) got: 2", "MatrixBandPart", "", "float[1,1] 1", "int64[] 0", "int64[] 2");
  WORDED("lower_diag_index is out of bound: 4. It must be between -1 and 2", "MatrixDiagPartV3", "", "float[1,2] 1 2", "int32[] 4",
         "float[] 0");
  WORDED("upper_diag_index is out of bound", "MatrixDiagPartV3", "", "float[1,2] 1 2", "int32[2] 0 4", "float[] 0");
  WORDED("diag_index must be a scalar or vector, received shape: [1,1]", "MatrixDiagPartV3", "", "float[1,2] 1 2", "int32[1,1] 0",
         "float[] 0");
  WORDED("diag_index must have only one or two elements, received 3 elements", "MatrixDiagPartV3", "", "float[1,2] 1 2", "int32[3] 0 0 0",
         "float[] 0");
  WORDED("padding_value must be a scalar", "MatrixDiagPartV3", "", "float[1,2] 1 2", "int32[] 0", "float[2] 0 1");
#define DIAG(text, k, rows, columns) WORDED(text, "MatrixDiagV3", "", "float[2,2] 1 2 3 4", k, rows, columns, "float[] 0")
  DIAG("The number of diagonals provided in the input does not match", "int32[2] -1 1", "int32[] -1", "int32[] -1");
  DIAG("The number of rows is too small", "int32[2] 0 1", "int32[] 1", "int32[] -1");
  DIAG("The number of columns is too small", "int32[2] 0 1", "int32[] -1", "int32[] 1");
  DIAG("The number of rows or columns is not consistent", "int32[2] 0 1", "int32[] 4", "int32[] 4");
  WORDED("first dimensions of diagonal don't match", "MatrixSetDiagV3", "", "float[2,1,1] 0 0", "float[1,1] 0", "int32[] 0");
  DIAG("num_rows must be a scalar", "int32[2] 0 1", "int32[1] 4", "int32[] 4");
}

TEST(windows_and_channels) {
  WORDED("filter must be 4-dimensional: [1,1,1]", "Conv2D", "strides=[1,1,1,1]; padding='VALID'", "float[1,1,1,1] 1", "float[1,1,1] 1");
  WORDED("Computed output size would be negative: -2 [input_size: 1, effective_filter_size: 4, stride: 1]", "Conv2D",
         "strides=[1,1,1,1]; padding='VALID'", "float[1,1,1,1] 1", "float[4,1,1,1] 1 2 3 4");
  WORDED("output depth must be evenly divisible by number of groups", "Conv2D", "strides=[1,1,1,1]; padding='VALID'", "float[1,1,1,2] 1 2",
         "float[1,1,1,1] 1");
  WORDED("Size of out_backprop doesn't match computed", "Conv2DBackpropFilter", "strides=[1,1,1,1]; padding='VALID'", "float[1,1,1,1] 1",
         "int32[4] 1 1 1 1", "float[1,1,2,1] 1 2");
  WORDED("same batch size. Input batch: 2, outbackprop batch: 1", "Conv2DBackpropFilter", "strides=[1,1,1,1]; padding='VALID'",
         "float[2,1,1,1] 1 2", "int32[4] 1 1 1 1", "float[1,1,1,1] 1");
  WORDED("requires input_sizes to contain 4 values or 2 values, but got: 3", "Conv2DBackpropInput", "strides=[1,1,1,1]; padding='VALID'",
         "int32[3] 1 1 1", "float[1,1,1,1] 1", "float[1,1,1,1] 1");
  WORDED("out_backprop must be 4-dimensional", "MaxPoolGrad", "ksize=[1,1,1,1]; strides=[1,1,1,1]; padding='VALID'", "float[1,1,1,1] 1",
         "float[1,1,1,1] 1", "float[1,1,1] 1");
  WORDED("Right padding 2 needs to be smaller than the window size 2", "MaxPool",
         "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding='EXPLICIT'; explicit_paddings=[0,0,0,1,0,2,0,0]", "float[1,2,2,1] 1 2 3 4");
  WORDED("Sliding window ksize field must specify 4 dimensions", "MaxPoolV2", "padding='VALID'", "float[1,1,1,1] 1", "int32[3] 1 1 1",
         "int32[4] 1 1 1 1");
  WORDED("Expected orig_output shape to be [1,1,1,1], but got [1,1,2,1]", "MaxPoolGrad",
         "ksize=[1,1,1,1]; strides=[1,1,1,1]; padding='VALID'", "float[1,1,1,1] 1", "float[1,1,2,1] 1 2", "float[1,1,1,1] 1");
  WORDED("as many biases as the last dimension of the input tensor: [2] vs. [1,3]", "BiasAdd", "", "float[1,3] 1 2 3", "float[2] 1 2");
  WORDED("Biases must be 1D: [1,3]", "BiasAdd", "", "float[1,3] 1 2 3", "float[1,3] 1 2 3");
  WORDED("Input tensor must be at least 2D: [3]", "BiasAddGrad", "", "float[3] 1 2 3");
  WORDED("logits must have >= 1 dimension, got []", "LogSoftmax", "", "float[] 1");
  WORDED("logits_size=[2,3] labels_size=[3,3]", "SoftmaxCrossEntropyWithLogits", "", "float[2,3] 1 2 3 4 5 6",
         "float[3,3] 1 2 3 4 5 6 7 8 9");
  WORDED("got logits shape [1,2] and labels shape [2]", "SparseSoftmaxCrossEntropyWithLogits", "", "float[1,2] 1 2", "int32[2] 0 1");
#define NORM(text, x, scale, mean) WORDED(text, "FusedBatchNormV3", "is_training=false", x, scale, "float[1] 0", mean, "float[1] 1")
  NORM("input must be 4-dimensional", "float[1,1] 1", "float[1] 1", "float[1] 1");
  NORM("scale must be 1-dimensional", "float[1,1,1,1] 1", "float[1,1] 1", "float[1] 1");
  NORM("mean must have the same number of elements as the channels of x, got 2 and 1", "float[1,1,1,1] 1", "float[1] 1", "float[2] 1 2");
}

TEST(two_inputs_of_one_shape) {
  WORDED("Inputs to operation node_0 of type ReluGrad must have the same size and shape.  Input 0: [2] != input 1: [3]", "ReluGrad", "",
         "float[2] 1 2", "float[3] 1 2 3");
  WORDED("of type LeakyReluGrad must have the same size and shape.  Input 0: [2] != input 1: [3]", "LeakyReluGrad", "", "float[2] 1 2",
         "float[3] 1 2 3");
  WORDED("Shapes of a and x are inconsistent: [2] vs. [3]", "Betainc", "", "float[2] 1 2", "float[] 1", "float[3] 1 2 3");
  WORDED("true_classes must be a matrix", "UniformCandidateSampler", "num_true=2; num_sampled=1; unique=true; range_max=4", "int64[2] 1 2");
  WORDED("true_classes must have num_true columns, expected: 1 was: 2", "UniformCandidateSampler",
         "num_true=1; num_sampled=1; unique=true; range_max=4", "int64[1,2] 1 2");
}

/* Over channels max pooling is alone, and takes whole groups. */
TEST(depthwise_pooling_keeps_to_its_form) {
  static const struct { const char *text, *attrs; } rows[] = {
      {"MaxPooling supports exactly one of pooling across depth or pooling across width/height",
       "ksize=[1,1,2,2]; strides=[1,1,2,2]; padding='VALID'"},
      {"Depthwise max pooling requires the depth window to evenly divide the input depth",
       "ksize=[1,1,1,3]; strides=[1,1,1,3]; padding='VALID'"},
      {"Depthwise max pooling requires the depth window to equal the depth stride", "ksize=[1,1,1,2]; strides=[1,1,1,1]; padding='VALID'"},
      {"Pooling is not yet supported on the batch dimension", "ksize=[2,1,1,1]; strides=[1,1,1,1]; padding='VALID'"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    REFUSED(TF_UNIMPLEMENTED, rows[i].text, "MaxPool", rows[i].attrs, "float[1,1,2,4] 1 2 3 4 5 6 7 8");
  VALUE("float[1,1,2,2] 2 4 6 8", "MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding='VALID'", "float[1,1,2,4] 1 2 3 4 5 6 7 8");
}

TEST_MAIN()
