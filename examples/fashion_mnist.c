/* SPDX-License-Identifier: Apache-2.0 */
/* Trains the deep tutorial network on Fashion-MNIST in C alone: two 5x5 convolutions with max pooling, 1024 hidden units, dropout, softmax,
 * Adam. Builds the graph, differentiates it, trains, tests, and writes a checkpoint that TensorFlow restores. Public headers only:
 *
 *   cc -std=c11 -O2 fashion_mnist.c -lheadrace -lz -lm && ./a.out */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include "headrace/client.h"
#include "headrace/session.h"

static TF_Status* status;
static void must(const char* what) { /* the last call went well, or the program ends */
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(status));
  exit(1);
}
static void fail(const char* what, const char* about) {
  fprintf(stderr, "%s %s\n", what, about);
  exit(1);
}

/* --- options --------------------------------------------------------------------------------------------------------------------------- */
static struct {
  const char *data, *save;
  int epochs, batch, seed;
  double rate;
} opt = {"/usr/share/datasets/fashion-mnist", "fashion_mnist_c/model", 3, 64, 1, 1.5e-3};

static void usage(void) {
  printf(
      "Trains a convolutional network on Fashion-MNIST, in C alone.\n\n"
      "  --data DIR      folder with the IDX files, plain or gzipped (%s)\n"
      "  --epochs N      passes over the training images (%d)\n"
      "  --batch N       images a step (%d)\n"
      "  --rate X        learning rate of Adam, reached after 300 steps and halved over each pass (%g)\n"
      "  --seed N        of initial values, order and dropout (%d)\n"
      "  --save PREFIX   where the checkpoint goes (%s)\n",
      opt.data, opt.epochs, opt.batch, opt.rate, opt.seed, opt.save);
}

static void parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    char* rest = NULL;
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) usage(), exit(0);
    if (!value) fail("missing value or unknown option, see --help:", name);
    ++i;
    if (!strcmp(name, "--data")) opt.data = value;
    else if (!strcmp(name, "--save")) opt.save = value;
    else if (!strcmp(name, "--rate")) opt.rate = strtod(value, &rest);
    else if (!strcmp(name, "--epochs")) opt.epochs = (int)strtol(value, &rest, 10);
    else if (!strcmp(name, "--batch")) opt.batch = (int)strtol(value, &rest, 10);
    else if (!strcmp(name, "--seed")) opt.seed = (int)strtol(value, &rest, 10);
    else fail("unknown option, see --help:", name);
    if (rest && (*rest || rest == value)) fail("not a number:", value);
  }
  if (opt.batch < 1 || opt.epochs < 0) fail("--batch must be at least 1 and --epochs at least 0", "");
}

/* --- data: IDX files, zlib reads plain ones too ------------------------------------------------------------------------------------------- */
typedef struct {
  int count, height, width; /* labels: height and width 1 */
  unsigned char* bytes;
} idx_t;

static int big_endian(const unsigned char* b) { return (int)((unsigned)b[0] << 24 | (unsigned)b[1] << 16 | (unsigned)b[2] << 8 | b[3]); }

static idx_t read_idx(const char* name, int rank) {
  char path[4096];
  unsigned char head[16];
  idx_t d = {0, 1, 1, NULL};
  snprintf(path, sizeof path, "%s/%s", opt.data, name);
  if (access(path, R_OK)) snprintf(path, sizeof path, "%s/%s.gz", opt.data, name);
  gzFile f = gzopen(path, "rb");
  if (!f) fail("cannot read (--data DIR names a folder with the four IDX files; Debian: apt install dataset-fashion-mnist)", path);
  const int head_size = 4 + 4 * rank;
  if (gzread(f, head, (unsigned)head_size) != head_size || head[0] || head[1] || head[2] != 8 || head[3] != rank) fail("not an IDX file of bytes:", path);
  d.count = big_endian(head + 4);
  if (rank == 3) d.height = big_endian(head + 8), d.width = big_endian(head + 12);
  const long long size = (long long)d.count * d.height * d.width;
  if (d.count < 1 || d.height < 4 * (rank == 3) || d.width < 4 * (rank == 3) || d.height > 4096 || d.width > 4096 || size > 1 << 30) fail("not a usable size in", path);
  if (!(d.bytes = malloc((size_t)size))) fail("out of memory for", path);
  if (gzread(f, d.bytes, (unsigned)size) != size) fail("the file ends too early:", path);
  gzclose(f);
  return d;
}

typedef struct { idx_t images, labels; } set_t;
static set_t read_set(const char* images, const char* labels) {
  set_t s = {read_idx(images, 3), read_idx(labels, 1)};
  if (s.images.count != s.labels.count) fail("images and labels differ in number:", images);
  return s;
}

/* --- the network ------------------------------------------------------------------------------------------------------------------------ */
enum { MOST_VARIABLES = 32 };
static struct {
  TF_Graph* graph;
  TF_Output images, labels, keep, rate, loss, accuracy; /* keep: the part of the hidden units that stays */
  HR_Variable variables[MOST_VARIABLES];          /* weights first, then the step, then the optimizer's */
  int weights, count;
  TF_Operation *train, *init;
  HR_SaverNodes saver;
} net;

static TF_Output op(const char* name, const TF_Output* inputs, int count) {
  TF_Output out = HR_Op(net.graph, name, NULL, inputs, count, status);
  must(name);
  return out;
}
static TF_Output op1(const char* name, TF_Output a) { return op(name, &a, 1); }
static TF_Output op2(const char* name, TF_Output a, TF_Output b) { return op(name, (TF_Output[]){a, b}, 2); }
static TF_Output number(float x) { return HR_ConstFloat(net.graph, NULL, x, status); }
static TF_Output ints(const int32_t* values, int n) { return HR_ConstInt32s(net.graph, NULL, values, n, status); }
static TF_Output scalar_int(int32_t value) {
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof value);
  memcpy(TF_TensorData(t), &value, sizeof value);
  TF_Output out = HR_Const(net.graph, NULL, t, status);
  TF_DeleteTensor(t);
  return out;
}
static TF_Output finish(TF_OperationDescription* d, const char* what) {
  TF_Output out = {TF_FinishOperation(d, status), 0};
  must(what);
  return out;
}
static TF_Output cast_to(TF_Output x, TF_DataType type, const char* name) {
  TF_OperationDescription* d = TF_NewOperation(net.graph, "Cast", name);
  TF_AddInput(d, x);
  TF_SetAttrType(d, "DstT", type);
  return finish(d, name);
}
static TF_Output mean(TF_Output x) {
  const int32_t zero = 0;
  return op2("Mean", x, ints(&zero, 1));
}

static TF_Output variable(const char* name, TF_Output initial) {
  HR_Variable* v = &net.variables[net.count++];
  HR_NewVariable(net.graph, name, initial, 0, v, status);
  must(name);
  return v->read;
}
/* Scaled by the inputs of a unit, so that signals keep their size through a layer of relus. */
static TF_Output weight(const char* name, const int64_t* dims, int rank) {
  int64_t inputs = 1;
  for (int i = 0; i + 1 < rank; ++i) inputs *= dims[i];
  const float deviation = sqrtf(2.f / (float)inputs);
  return variable(name, HR_TruncatedNormal(net.graph, NULL, dims, rank, 0, deviation, opt.seed, 100 + net.count, status));
}
static TF_Output bias(const char* name, int64_t n) { return variable(name, HR_Filled(net.graph, NULL, &n, 1, 0.1f, status)); }

static TF_Output convolution(const char* name, TF_Output x, int64_t in, int64_t out) { /* 5x5, relu, and the greatest of 2x2 */
  const int64_t one[] = {1, 1, 1, 1}, two[] = {1, 2, 2, 1}, dims[] = {5, 5, in, out};
  char w[32], b[32], pool[32];
  snprintf(w, sizeof w, "%s/W", name), snprintf(b, sizeof b, "%s/b", name), snprintf(pool, sizeof pool, "%s/pool", name);
  TF_Output filter = weight(w, dims, 4);
  TF_OperationDescription* d = TF_NewOperation(net.graph, "Conv2D", name);
  TF_AddInput(d, x);
  TF_AddInput(d, filter);
  TF_SetAttrIntList(d, "strides", one, 4);
  TF_SetAttrString(d, "padding", "SAME", 4);
  TF_Output y = op1("Relu", op2("BiasAdd", finish(d, name), bias(b, out)));
  d = TF_NewOperation(net.graph, "MaxPool", pool);
  TF_AddInput(d, y);
  TF_SetAttrIntList(d, "ksize", two, 4);
  TF_SetAttrIntList(d, "strides", two, 4);
  TF_SetAttrString(d, "padding", "SAME", 4);
  return finish(d, pool);
}
static TF_Output dense(const char* name, TF_Output x, int64_t in, int64_t out) {
  char w[32], b[32];
  snprintf(w, sizeof w, "%s/W", name), snprintf(b, sizeof b, "%s/b", name);
  TF_Output product = op2("MatMul", x, weight(w, (int64_t[]){in, out}, 2));
  return op2("BiasAdd", product, bias(b, out));
}
static TF_Output dropout(TF_Output x) { /* x / keep where a random number is below keep, else 0 */
  TF_OperationDescription* d = TF_NewOperation(net.graph, "RandomUniform", "dropout/noise");
  TF_AddInput(d, op1("Shape", x));
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrInt(d, "seed", opt.seed);
  TF_SetAttrInt(d, "seed2", 99);
  TF_Output stays = op1("Floor", op2("AddV2", finish(d, "noise"), net.keep));
  return op2("Mul", op2("RealDiv", x, net.keep), stays);
}

static void build_network(int height, int width) {
  const int64_t h = (height + 3) / 4, w = (width + 3) / 4; /* after two poolings */
  net.graph = TF_NewGraph();
  net.images = HR_Placeholder(net.graph, "images", TF_UINT8, (int64_t[]){-1, height, width, 1}, 4, status);
  net.labels = HR_Placeholder(net.graph, "labels", TF_INT32, (int64_t[]){-1}, 1, status);
  net.keep = HR_Placeholder(net.graph, "keep", TF_FLOAT, NULL, 0, status);
  net.rate = HR_Placeholder(net.graph, "rate", TF_FLOAT, NULL, 0, status);
  must("inputs");
  TF_Output x = op2("Mul", cast_to(net.images, TF_FLOAT, "pixels"), number(1 / 255.f));
  x = convolution("conv1", x, 1, 32);
  x = convolution("conv2", x, 32, 64);
  x = op2("Reshape", x, ints((int32_t[]){-1, (int32_t)(h * w * 64)}, 2));
  x = dropout(op1("Relu", dense("hidden", x, h * w * 64, 1024)));
  TF_Output logits = dense("logits", x, 1024, 10);
  net.loss = mean(op2("SparseSoftmaxCrossEntropyWithLogits", logits, net.labels));
  TF_Output best = cast_to(op2("ArgMax", logits, scalar_int(1)), TF_INT32, "best");
  net.accuracy = mean(cast_to(op2("Equal", best, net.labels), TF_FLOAT, "right"));
  must("the network");
  net.weights = net.count;
}

static void build_training(void) {
  TF_Tensor* zero = TF_AllocateTensor(TF_INT64, NULL, 0, sizeof(int64_t));
  memset(TF_TensorData(zero), 0, sizeof(int64_t));
  variable("global_step", HR_Const(net.graph, "global_step/initial", zero, status));
  TF_DeleteTensor(zero);
  HR_Optimizer* adam = HR_NewOptimizer(net.graph, "Adam", NULL, status);
  HR_OptimizerSetTensor(adam, "learning_rate", net.rate, status);
  net.train = HR_OptimizerMinimize(adam, net.loss, net.variables, net.weights, &net.variables[net.weights], status);
  must("training");
  for (int i = 0; i < HR_OptimizerSlotCount(adam); ++i) net.variables[net.count++] = *HR_OptimizerSlot(adam, i, NULL, NULL);
  HR_DeleteOptimizer(adam);
  net.init = HR_InitializeAll(net.graph, "init", net.variables, net.count, status);
  HR_BuildSaver(net.graph, NULL, net.variables, NULL, net.count, 0, &net.saver, status);
  must("the saver");
}

/* --- running ---------------------------------------------------------------------------------------------------------------------------- */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t random_state;
static uint32_t random_below(uint32_t n) { /* xorshift */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)((random_state >> 32) % n);
}
static void shuffle(int* order, int n) {
  for (int i = n - 1; i > 0; --i) {
    const int j = (int)random_below((uint32_t)i + 1), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}

static TF_Tensor* scalar(float value) {
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof value);
  if (t) *(float*)TF_TensorData(t) = value;
  return t;
}

/* Runs one batch, the images order[0..n), and gives loss and accuracy. */
static void run_batch(HR_Callable* step, const set_t* set, const int* order, int n, float keep, float rate, float out[2]) {
  const size_t size = (size_t)set->images.height * (size_t)set->images.width;
  const int64_t dims[] = {n, set->images.height, set->images.width, 1}, count = n;
  TF_Tensor* in[] = {TF_AllocateTensor(TF_UINT8, dims, 4, (size_t)n * size), TF_AllocateTensor(TF_INT32, &count, 1, (size_t)n * 4), scalar(keep), scalar(rate)};
  TF_Tensor* results[2] = {NULL, NULL};
  if (!in[0] || !in[1] || !in[2] || !in[3]) fail("out of memory", "");
  for (int i = 0; i < n; ++i) {
    memcpy((unsigned char*)TF_TensorData(in[0]) + (size_t)i * size, set->images.bytes + (size_t)order[i] * size, size);
    ((int32_t*)TF_TensorData(in[1]))[i] = set->labels.bytes[order[i]];
  }
  HR_CallableRun(step, NULL, NULL, in, results, NULL, status);
  must("a step");
  for (int i = 0; i < 2; ++i) out[i] = *(float*)TF_TensorData(results[i]), TF_DeleteTensor(results[i]);
  for (int i = 0; i < 4; ++i) TF_DeleteTensor(in[i]);
}

static float rate_at(int step, int pass_steps) { /* up to the full rate in 300 steps; halved over each pass */
  return (float)(opt.rate * fmin(1, (step + 1) / 300.0) * pow(0.5, (double)step / pass_steps));
}

static void train(HR_Callable* step, const set_t* set, int* order) {
  const int n = set->images.count, steps = (n + opt.batch - 1) / opt.batch, often = isatty(2) ? 10 : 100;
  for (int epoch = 1; epoch <= opt.epochs; ++epoch) {
    const double start = seconds();
    double loss = 0, right = 0;
    shuffle(order, n);
    for (int i = 0; i < steps; ++i) {
      const int from = i * opt.batch, count = n - from < opt.batch ? n - from : opt.batch;
      float out[2];
      run_batch(step, set, order + from, count, 0.5f, rate_at((epoch - 1) * steps + i, steps), out);
      loss = i ? 0.95 * loss + 0.05 * (double)out[0] : (double)out[0]; /* of the last few steps */
      right = i ? 0.95 * right + 0.05 * (double)out[1] : (double)out[1];
      if ((i + 1) % often && i + 1 < steps) continue;
      fprintf(stderr, "%sepoch %d/%d  step %d/%d  loss %.4f  accuracy %.3f  %.0f images/s%s", isatty(2) ? "\r" : "", epoch, opt.epochs, i + 1, steps, loss,
              right, (from + count) / (seconds() - start), isatty(2) && i + 1 < steps ? "  " : "\n");
    }
  }
}

static double test(HR_Callable* step, const set_t* set, const int* order) {
  double right = 0;
  const int n = set->images.count, batch = 500;
  for (int from = 0; from < n; from += batch) {
    float out[2];
    const int count = n - from < batch ? n - from : batch;
    run_batch(step, set, order + from, count, 1.f, 0.f, out);
    right += (double)out[1] * count;
  }
  return right / n;
}

static void save(TF_Session* session, int step) {
  char prefix[4096], folder[4096];
  snprintf(prefix, sizeof prefix, "%s-%d", opt.save, step);
  snprintf(folder, sizeof folder, "%s", opt.save);
  char* slash = strrchr(folder, '/');
  if (slash) {
    *slash = 0;
    if (*folder && mkdir(folder, 0777) && errno != EEXIST) fail("cannot make the folder", folder);
  }
  HR_SaverSave(session, &net.saver, prefix, status);
  must("saving");
  const char* const all[] = {prefix};
  HR_UpdateCheckpointState(slash ? (*folder ? folder : "/") : ".", prefix, all, 1, status);
  must("saving");
  printf("saved %s\n", prefix);
}

int main(int argc, char** argv) {
  parse(argc, argv);
  status = TF_NewStatus();
  random_state = 0x9e3779b97f4a7c15u ^ (uint64_t)opt.seed;
  set_t training = read_set("train-images-idx3-ubyte", "train-labels-idx1-ubyte"), tests = read_set("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte");
  if (training.images.height != tests.images.height || training.images.width != tests.images.width) fail("training and test images differ in size", "");
  build_network(training.images.height, training.images.width);
  build_training();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(net.graph, options, status);
  must("the session");
  TF_DeleteSessionOptions(options);
  const TF_Operation *init = net.init, *train_op = net.train;
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &init, 1, NULL, status);
  must("initial values");
  const TF_Output in[] = {net.images, net.labels, net.keep, net.rate}, out[] = {net.loss, net.accuracy};
  HR_Callable *step = HR_NewCallable(session, in, 4, out, 2, &train_op, 1, status), *look = HR_NewCallable(session, in, 4, out, 2, NULL, 0, status);
  must("the steps");
  const int most = training.images.count > tests.images.count ? training.images.count : tests.images.count;
  int* order = malloc(sizeof *order * (size_t)most);
  if (!order) fail("out of memory", "");
  for (int i = 0; i < most; ++i) order[i] = i;
  const double start = seconds();
  train(step, &training, order);
  for (int i = 0; i < most; ++i) order[i] = i;
  printf("trained in %.1f s\n", seconds() - start);
  printf("test accuracy %.4f\n", test(look, &tests, order));
  save(session, opt.epochs * ((training.images.count + opt.batch - 1) / opt.batch));
  free(order);
  HR_DeleteCallable(step);
  HR_DeleteCallable(look);
  TF_DeleteSession(session, status);
  TF_DeleteGraph(net.graph);
  TF_DeleteStatus(status);
  free(training.images.bytes), free(training.labels.bytes), free(tests.images.bytes), free(tests.labels.bytes);
  return 0;
}
