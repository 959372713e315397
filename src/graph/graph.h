/* SPDX-License-Identifier: Apache-2.0 */
/* A graph: nodes with typed inputs and outputs, control edges, attrs, inferred shapes, a function library, versions. It only grows:
 * a node, once added, keeps its address, name, op and attrs for the graph's life, so sessions may read it while another thread
 * extends the graph. `mu` guards everything that changes: the node list, name map, consumers, refined shapes, requested devices.
 * Functions below lock nothing; capi/ and session/ do. */
#ifndef HR_GRAPH_GRAPH_H
#define HR_GRAPH_GRAPH_H
#include "base/arena.h"
#include "base/map.h"
#include "base/sync.h"
#include "base/vec.h"
#include "op/attrs_of.h"
#include "op/grad_ctx.h"
#include "op/registry.h"

enum { HR_GRAPH_VERSION = 2474, HR_GRAPH_MIN_CONSUMER = 0 };

typedef struct hr_node hr_node_t;
typedef struct hr_graph hr_graph_t;
/* hr_value_t {node, index} (op/grad_ctx.h) is an endpoint: output `index` of a node. */

#define HR_EDGE_LIST(T) struct { T* data; int32_t count, capacity; } /* shorter than HR_VEC: every node has two */

struct hr_node {
  int32_t id;                       /* index in graph->nodes */
  int32_t input_count, control_count, output_count;
  hr_node_attrs_t attrs;            /* attrs.def is the op */
  hr_str_t name;                    /* NUL-terminated, unique in the graph */
  hr_str_t device;                  /* requested; "" */
  hr_value_t* inputs;
  hr_node_t** controls;             /* nodes this one waits for */
  const int32_t* input_types;       /* expected; + HR_DTYPE_REF where the op wants a reference */
  const int32_t* output_types;      /* + HR_DTYPE_REF for references */
  const hr_pshape_t** shapes;       /* inferred, of the outputs; never NULL entries */
  struct hr_handle_info* handles;   /* of resource outputs; NULL: nothing known */
  /* Data edges out; input index at the consumer. Both lists lie in the arena: only the functions here and in copy.h change them. */
  HR_EDGE_LIST(struct { hr_node_t* node; int32_t input; int32_t output; }) consumers;
  HR_EDGE_LIST(hr_node_t*) control_consumers;
  hr_tensor_t* constant;            /* value of output 0 once evaluated (Const and what graph/const_eval.h found); NULL: not known */
  hr_graph_t* graph;
};

typedef struct hr_handle_info { hr_dtype_t dtype; const hr_pshape_t* shape; } hr_handle_info_t;

struct hr_function; /* graph/function.h: FunctionDef kept as bytes and decoded signature */

struct hr_graph {
  hr_arena_t arena;
  hr_attr_keeper_t tensors;         /* released with the graph */
  HR_VEC(hr_node_t*) nodes;         /* by id; NULL where a node was removed (only in the session's copies) */
  hr_map_t by_name;
  HR_VEC(struct hr_function*) functions;
  hr_map_t functions_by_name;
  struct hr_call_memory* call_memory; /* of what calls give (graph/call_shapes.h); NULL: nothing looked into yet */
  int32_t sketch_depth;             /* in such a sketch: how many calls deep, and `library` is held by whoever makes it; else 0 */
  struct hr_graph* library;         /* its functions are this graph's too (copies, graph/copy.h); not owned; NULL */
  int32_t producer, min_consumer;
  HR_VEC(int32_t) bad_consumers;
  hr_map_t next_suffix;             /* for hr_graph_unique_name */
  bool names_pending;               /* by_name has only the nodes added since; the rest at the first look-up (copies, graph/copy.h) */
  hr_graph_t* originals;            /* while that is so: the graph whose nodes were copied; guards its names with its own mu; NULL */
  int64_t original_count;           /* nodes that it had then: those that it gets later are no business of the copy */
  hr_str_t last_device;             /* of the node added last: neighbours mostly ask for the same, and share one text */
  uint64_t ops[4];                  /* one bit for each op that a node has or had, several ops to a bit */
  hr_mutex_t mu;
  atomic_int sharers;               /* owners beside the one that created it */
};

HR_MUST_USE hr_status_t hr_graph_create(hr_graph_t** out);
void hr_graph_destroy(hr_graph_t* g); /* gives one ownership up; the last frees. Accepts NULL */
static inline hr_graph_t* hr_graph_retain(hr_graph_t* g) { /* one more owner */
  atomic_fetch_add_explicit(&g->sharers, 1, memory_order_relaxed);
  return g;
}
static inline void hr_graph_release(hr_graph_t* g) { hr_graph_destroy(g); }
hr_node_t* hr_graph_find(const hr_graph_t* g, hr_str_t name); /* NULL */
/* `wanted`, or wanted_1, wanted_2... that no node has; lies in the graph's arena. */
HR_MUST_USE hr_status_t hr_graph_unique_name(hr_graph_t* g, hr_str_t wanted, hr_str_t* out);
bool hr_graph_name_is_legal(hr_str_t name); /* [A-Za-z0-9.][A-Za-z0-9_.\-/>]* */

/* --- adding a node ------------------------------------------------------------------------------------------------------------ */
/* A description of a node to add. Attrs not given are inferred from the inputs (types, list lengths) or take their default.
 * Everything is checked: op known and not deprecated, attrs, input count and types, name legal and free, controls of the same graph,
 * shapes. On failure the graph is unchanged. All pointers are borrowed; what is kept is copied. */
typedef struct {
  hr_str_t op, name, device;
  const hr_value_t* inputs;
  int32_t input_count;
  const int32_t* input_lists;       /* lengths of the op's arguments in order, for C API list inputs; NULL: inferred */
  hr_node_t* const* controls;
  int32_t control_count;
  const hr_named_attr_t* attrs;
  int32_t attr_count;
  bool allow_missing_inputs;        /* import of loops: back edges are set later by hr_graph_set_input */
  bool skip_shapes;                 /* the session's rewrites; names may then start with '_' */
  bool try_shapes;                  /* a shape function's refusal is left to the kernel (graph/shapes.h) */
  bool internal;                    /* a part of a graph, made by a runtime: names may start with '_' */
  bool attrs_kept;                  /* import: attr values lie in g->arena already and are not copied again */
} hr_node_desc_t;
HR_MUST_USE hr_status_t hr_graph_add(hr_graph_t* g, const hr_node_desc_t* desc, hr_node_t** out);
/* Replaces an input; the type must fit; keeps consumer lists. */
HR_MUST_USE hr_status_t hr_graph_set_input(hr_graph_t* g, hr_node_t* node, int input, hr_value_t from);
HR_MUST_USE hr_status_t hr_graph_add_control(hr_graph_t* g, hr_node_t* node, hr_node_t* waits_for);
void hr_graph_remove_controls(hr_node_t* node); /* waits for nothing but its inputs */
/* Narrows the known shape of an output (TF_GraphSetTensorShape); INVALID_ARGUMENT when it contradicts. */
HR_MUST_USE hr_status_t hr_graph_refine_shape(hr_graph_t* g, hr_value_t v, const hr_pshape_t* shape);

/* Which ops a graph may have, without looking at its nodes. */
static inline unsigned hr_graph_op_bit(hr_str_t op) {
  const unsigned char* c = (const unsigned char*)op.data;
  if (!op.size) return 0;
  return (unsigned)(op.size * 37 + c[0] * 5u + c[op.size / 2] * 11u + c[op.size - 1] * 3u) & 255;
}
static inline void hr_graph_note_op(hr_graph_t* g, hr_str_t op) {
  const unsigned bit = hr_graph_op_bit(op);
  g->ops[bit / 64] |= (uint64_t)1 << bit % 64;
}
/* False: no node of it has this op. */
static inline bool hr_graph_may_have(const hr_graph_t* g, const char* op) {
  const unsigned bit = hr_graph_op_bit(hr_str(op));
  return g->ops[bit / 64] >> bit % 64 & 1;
}

static inline int32_t hr_value_type(hr_value_t v) { return v.node->output_types[v.index]; }
static inline const hr_pshape_t* hr_value_shape(hr_value_t v) { return v.node->shapes[v.index]; }
#endif
