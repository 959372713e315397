/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of calls, seen through bodies: values that arguments hold, calls in calls, loops, and libraries that would never end. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/graph/graph_text.h"

#include <time.h>
#include "graph/call_shapes.h"
#include "op/attr_value.h"

#define FN(name, args, more) "function { signature { name: '" name "' " args "} " more "} "
#define ARG(name, type)      "input_arg { name: '" name "' type: " type " } "
#define OUT(name, type)      "output_arg { name: '" name "' type: " type " } "
#define RET(key, value)      "ret { key: '" key "' value: '" value "' } "
#define X_TO_Y               ARG("x", "DT_FLOAT") OUT("y", "DT_FLOAT")
#define I32                  TYPE("T", "DT_INT32")
#define F(name)              ATTR("f", "func { name: '" name "' }")
#define TYPES(key, list)     ATTR(key, "list { type: [" list "] }")
#define CALL(name, f, in)    OP(name, "PartitionedCall") in F(f)
#define ONE_TO_ONE           TYPES("Tin", "DT_FLOAT") TYPES("Tout", "DT_FLOAT")
#define CONST(name, dims, v) \
  OP(name, "Const") TYPE("dtype", "DT_INT32") ATTR("value", "tensor { dtype: DT_INT32 tensor_shape { " dims " } " v "}")
#define SIZES(name, a, b) NODE(CONST(name, "dim { size: 2 }", "int_val: [" #a ", " #b "] "))
#define X(dims)           NODE(OP("x", "Placeholder") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { " dims "}"))
#define DIM(n)            "dim { size: " #n " } "

#define SQUARE FN("Square2", X_TO_Y, INNER(OP("s", "Square") IN("x") F32) RET("y", "s:y:0"))
#define RESHAPE                                                            \
  FN("To", ARG("x", "DT_FLOAT") ARG("d", "DT_INT32") OUT("y", "DT_FLOAT"), \
     INNER(OP("r", "Reshape") IN("x") IN("d") F32 TYPE("Tshape", "DT_INT32")) RET("y", "r:output:0"))
#define TWO_TO_ONE TYPES("Tin", "DT_FLOAT, DT_INT32") TYPES("Tout", "DT_FLOAT")
#define NESTED                                                                 \
  FN("Nested", ARG("x", "DT_FLOAT") ARG("d", "DT_INT32") OUT("y", "DT_FLOAT"), \
     INNER(CALL("c", "To", IN("x") IN("d")) TWO_TO_ONE) INNER(OP("s", "Square") IN("c:output:0") F32) RET("y", "s:y:0"))
#define RECURSIVE FN("Again", X_TO_Y, INNER(CALL("c", "Again", IN("x")) ONE_TO_ONE) RET("y", "c:output:0"))
#define GROWS                                                                                                                     \
  FN("Grows", X_TO_Y,                                                                                                             \
     INNER(CONST("zero", "", "int_val: 0 ")) INNER(OP("c", "ConcatV2") IN("x") IN("x") IN("zero:output:0") F32 ATTR("N", "i: 2")) \
         RET("y", "c:output:0"))
#define DEEPER         \
  FN("Deeper", X_TO_Y, \
     INNER(CONST("zero", "", "int_val: 0 ")) INNER(OP("c", "ExpandDims") IN("x") IN("zero:output:0") F32) RET("y", "c:output:0"))
#define ALWAYS FN("Always", ARG("x", "DT_FLOAT") OUT("y", "DT_FLOAT"), RET("y", "x"))
#define LOOP(body) \
  NODE(OP("y", "While") IN("x") ATTR("cond", "func { name: 'Always' }") ATTR("body", "func { name: '" body "' }") TYPES("T", "DT_FLOAT"))
#define ONE(f, more) NODE(CALL("y", f, IN("x")) ONE_TO_ONE more)

HR_TEST(what_bodies_tell) {
  static const struct {
    const char *graph, *shape;
  } rows[] = {
      {"library { " SQUARE "} " X(DIM(2) DIM(-1)) ONE("Square2", ""), "[2,?]"},
      {"library { " SQUARE "} " X(DIM(2) DIM(-1)) NODE(OP("y", "Square2") IN("x")), "[2,?]"}, /* called by its name */
      {"library { " SQUARE "} " X(DIM(2)) ONE("Square2", ATTR("_disable_call_shape_inference", "b: true")), "<unknown>"},
      {"library { " SQUARE "} " X("unknown_rank: true ") ONE("Square2", ATTR("_output_shapes", "list { shape { dim { size: 2 } } }")),
       "[2]"},
      {"library { " SQUARE "} " X(DIM(-1) DIM(3))
           ONE("Square2", ATTR("_output_shapes", "list { shape { dim { size: 2 } dim { size: -1 } } }")),
       "[2,3]"},
      {"library { " RESHAPE "} " X(DIM(6)) SIZES("d", 2, 3) NODE(CALL("y", "To", IN("x") IN("d")) TWO_TO_ONE), "[2,3]"},
      {"library { " RESHAPE NESTED "} " X(DIM(6)) SIZES("d", 3, 2) NODE(CALL("y", "Nested", IN("x") IN("d")) TWO_TO_ONE), "[3,2]"},
      {"library { " RESHAPE "} " X(DIM(6)) SIZES("d", 2, 4) NODE(CALL("y", "To", IN("x") IN("d")) TWO_TO_ONE),
       "<unknown>"}, /* it refuses */
      {"library { " SQUARE "} " X(DIM(2)) ONE("None", ""), "<unknown>"},
      {"library { " SQUARE "} " X(DIM(2))
           NODE(CALL("y", "Square2", IN("x") IN("x")) TYPES("Tin", "DT_FLOAT, DT_FLOAT") TYPES("Tout", "DT_FLOAT")),
       "<unknown>"},
      {"library { " SQUARE "} " X(DIM(2)) NODE(CALL("y", "Square2", IN("x")) TYPES("Tin", "DT_FLOAT") TYPES("Tout", "DT_INT32")),
       "<unknown>"},
      {"library { " RECURSIVE "} " X(DIM(2)) ONE("Again", ""), "<unknown>"},
      {"library { " SQUARE ALWAYS "} " X(DIM(2) DIM(-1)) LOOP("Square2"), "[2,?]"},
      {"library { " GROWS ALWAYS "} " X(DIM(2) DIM(3)) LOOP("Grows"), "[?,3]"}, /* TensorFlow says [2,3], which the loop's end is not */
      {"library { " DEEPER ALWAYS "} " X(DIM(2)) LOOP("Deeper"), "<unknown>"},
      {"library { " ALWAYS "} " X(DIM(2)) LOOP("None"), "<unknown>"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph(rows[i].graph);
    char text[HR_SHAPE_TEXT];
    if (!HR_CHECK_STR(hr_pshape_format(hr_value_shape((hr_value_t){hr_graph_find(g, HR_STR("y")), 0}), text), rows[i].shape))
      printf("in row %d\n", (int)i);
    hr_graph_destroy(g);
  }
}

/* L0 calls L1 twice, L1 calls L2 twice: 2^30 squares, and as many calls of them as the graph has nodes. */
HR_TEST(hostile_libraries_end) {
  enum { LEVELS = 30, CALLS = 200 };
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "library { ");
  for (int i = 0; i < LEVELS; ++i) {
    const char* form = "function { signature { name: 'L%d' " X_TO_Y
                       "attr { name: 'T' type: 'type' } } node_def { name: 'a' op: 'PartitionedCall' "
                       "input: 'x' attr { key: 'f' value { func { name: 'L%d' attr { key: 'T' value { type: DT_FLOAT } } } } } " ONE_TO_ONE
                       "} "
                       "node_def { name: 'b' op: 'PartitionedCall' input: 'a:output:0' attr { key: 'f' value { func { name: 'L%d' "
                       "attr { key: 'T' value { type: DT_FLOAT } } } } } " ONE_TO_ONE "} " RET("y", "b:output:0") "} ";
    hr_strbuf_format(&text, form, i, i + 1, i + 1);
  }
  hr_strbuf_format(&text, "} " X(DIM(2)));
  for (int i = 0; i < CALLS; ++i)
    hr_strbuf_format(&text,
                     "node { name: 'y%d' op: 'PartitionedCall' input: 'x' " ONE_TO_ONE
                     "attr { key: 'f' value { func { name: 'L0' attr { key: 'T' value { type: DT_FLOAT } } } } } } ",
                     i);
  hr_strbuf_add(&text, "", 1);
  const clock_t begin = clock();
  hr_graph_t* g = text_graph(text.data);
  HR_CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
  HR_CHECK(hr_value_shape((hr_value_t){hr_graph_find(g, HR_STR("y0")), 0})->rank == -1);
  hr_graph_destroy(g);
  hr_strbuf_deinit(&text);
}

/* A refused import takes its functions back; another body under the same name has another shape. */
HR_TEST(functions_that_are_taken_back_are_forgotten) {
  hr_graph_t* g = text_graph(X(DIM(2) DIM(3)));
  const char* other = "library { " FN("Square2", X_TO_Y,
                                      INNER(CONST("zero", "", "int_val: 0 ")) INNER(OP("c", "ExpandDims") IN("x") IN("zero:output:0") F32)
                                          RET("y", "c:output:0")) "} ";
  hr_status_t refused =
      text_import(g,
                  "library { " SQUARE "} " NODE(OP("a", "Placeholder") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { dim { size: 2 } }"))
                      NODE(CALL("y", "Square2", IN("a")) ONE_TO_ONE) NODE(OP("bad", "NoSuchOp")),
                  NULL, NULL);
  HR_CHECK(refused != NULL);
  hr_status_release(refused);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s", other);
  hr_strbuf_format(&text, "%s",
                   NODE(OP("a", "Placeholder") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { dim { size: 2 } }"))
                       NODE(CALL("y", "Square2", IN("a")) ONE_TO_ONE));
  hr_strbuf_add(&text, "", 1);
  HR_CHECK_OK(text_import(g, text.data, NULL, NULL));
  char shape[HR_SHAPE_TEXT];
  HR_CHECK_STR(hr_pshape_format(hr_value_shape((hr_value_t){hr_graph_find(g, HR_STR("y")), 0}), shape), "[1,2]");
  hr_strbuf_deinit(&text);
  hr_graph_destroy(g);
}

static hr_writer_t calls;
static hr_status_t import_calls(void) {
  hr_graph_t* g = NULL;
  HR_TRY(hr_graph_create(&g));
  hr_status_t status = hr_import_graph_def(g, calls.data, calls.size, NULL, NULL);
  hr_graph_destroy(g);
  return status;
}
HR_TEST(allocations_may_fail) {
  calls = text_bytes("GraphDef", "library { " RESHAPE NESTED SQUARE ALWAYS "} " X(DIM(6)) SIZES("d", 3, 2)
                                     NODE(CALL("y", "Nested", IN("x") IN("d")) TWO_TO_ONE)
                                         NODE(OP("w", "While") IN("y") ATTR("cond", "func { name: 'Always' }")
                                                  ATTR("body", "func { name: 'Square2' }") TYPES("T", "DT_FLOAT")));
  HR_TEST_EVERY_ALLOCATION_FAILS(import_calls);
  hr_strbuf_deinit(&calls);
}
HR_TEST_MAIN()
