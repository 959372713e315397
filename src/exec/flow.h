/* SPDX-License-Identifier: Apache-2.0 */
/* The general path: plans with loops, conditionals, asynchronous or waiting kernels. Instead of a straight list there are sites with edges
 * to those that wait for them; exec/activate.c is THE rule for who may run.
 *
 *   frame   a loop as the graph has it, or the root (immutable, of the plan)
 *   loop    a frame entered: one for each iteration of its parent that enters it
 *   block   one iteration of a loop: slots for its values, a counter for each of its sites
 *
 *   block's slots   [ feeds (root) | constants | invariants: lent by the loop | temporaries | spare (root) ]
 *
 * One thread, the caller's, owns all of a step's state: no lock, no atomic operation in activation. What runs elsewhere reads and writes
 * the slots of one call and comes back through the run's list of ended calls. Blocks and loops are used again, so an iteration like the
 * one before it allocates nothing. */
#ifndef HR_EXEC_FLOW_H
#define HR_EXEC_FLOW_H
#include "exec/plan_state.h"
#include "rt/async.h"

/* --- of the plan ------------------------------------------------------------------------------------------------------------------- */

/* What running a site means. */
typedef enum {
  HR_FLOW_COMPUTE, /* its kernel, here */
  HR_FLOW_NOTHING, /* its outputs, if any, lie there already */
  HR_FLOW_CONSTANT,
  HR_FLOW_SWITCH,
  HR_FLOW_SWITCH_N,
  HR_FLOW_MERGE,
  HR_FLOW_ENTER,
  HR_FLOW_EXIT,
  HR_FLOW_NEXT,
  HR_FLOW_START, /* an asynchronous kernel */
  HR_FLOW_WAIT,  /* a kernel that may wait: on a thread of its own */
} hr_flow_action_t;

typedef enum {
  HR_EDGE_PLAIN,
  HR_EDGE_MERGE,       /* input `input` of a Merge */
  HR_EDGE_MERGE_ENTER, /* the same from an Enter: if it is dead, so is the Merge */
  HR_EDGE_MERGE_CONTROL,
  HR_EDGE_EXIT, /* to an Exit that waits for nothing else: told only of what is alive */
} hr_edge_kind_t;

typedef struct {
  int32_t site, counter; /* who is told; its counter in the block */
  int32_t input, kind;
} hr_flow_edge_t;

typedef struct {
  int32_t slot, use;
} hr_flow_use_t; /* a value with several readers, and its count of those that have not read it */
typedef struct {
  int32_t ref, value;
} hr_flow_read_t; /* slots: a variable's reference, where its value goes */

/* What few sites have: control flow, references. */
typedef struct {
  const hr_flow_read_t* reads;   /* before it runs */
  const hr_flow_read_t* fetches; /* of references that it gives, at once after it ran */
  const hr_site_t* told;         /* what an observer is told: without outputs that lie in another block; NULL: the site as it is */
  int32_t read_count, fetch_count;
  int32_t opens, child; /* Enter: the frame, and which of its own frame's children that is */
  int32_t index;        /* Enter: among the constant ones of the child, or -1; Exit, NextIteration: among those of the frame */
  int32_t data_inputs;  /* of a Merge */
} hr_flow_rare_t;

/* One cache line. Its lists lie behind its inputs and outputs, in this order: drops, uses, in_use, ends, wanted. */
typedef struct hr_flow_site {
  const hr_site_t* site;
  const hr_flow_edge_t* edges; /* by output, then control edges */
  const hr_flow_rare_t* rare;  /* never NULL */
  int32_t edge_count, drop_count, use_count, wanted_count;
  int32_t counter, frame;
  uint8_t action;
  bool runs_dead;    /* _Send, _Recv */
  bool ignores_dead; /* ControlTrigger */
  bool may_be_unset; /* its outputs, when it ran alive: _Recv */
  bool uses_spare;
} hr_flow_site_t;

/* Slots that nobody reads afterwards. */
static inline const int32_t* hr_flow_drops(const hr_flow_site_t* s) { return s->site->out + s->site->out_count; }
static inline const hr_flow_use_t* hr_flow_uses(const hr_flow_site_t* s) {
  return (const hr_flow_use_t*)(const void*)(hr_flow_drops(s) + s->site->in_count);
}
/* By input: its index in the block's uses; -1. */
static inline const int32_t* hr_flow_in_use(const hr_flow_site_t* s) { return hr_flow_drops(s) + 3 * (ptrdiff_t)s->site->in_count; }
/* By output: where its edges end. */
static inline const int32_t* hr_flow_ends(const hr_flow_site_t* s) { return hr_flow_in_use(s) + s->site->in_count; }
/* Outputs that must be set after the kernel ran. */
static inline const int32_t* hr_flow_wanted(const hr_flow_site_t* s) { return hr_flow_ends(s) + s->site->out_count; }

typedef struct {
  int32_t pending, dead;
} hr_flow_counter_t;

typedef struct {
  hr_str_t name;
  int32_t parent, child_index; /* child_index: among its parent's children */
  int32_t parallel, ring_mask;        /* iterations open at once, at most */
  int32_t slot_count, first_constant, constant_count, first_invariant, first_temporary;
  int32_t site_count, use_count, child_count, enter_count, exit_count, next_count, invariant_count;
  const hr_tensor_t** constants;
  const int32_t* exits;        /* sites */
  const int32_t* invariants;   /* sites of constant Enters */
  hr_flow_counter_t* counters; /* as an iteration begins; uses lie behind them, so one copy sets both */
  int32_t* uses;
  size_t count_bytes;
} hr_flow_frame_t;

typedef struct hr_flow {
  hr_flow_frame_t* frames; /* 0 is the root */
  int32_t frame_count;
  hr_flow_site_t* sites;
  int32_t* roots; /* sites that wait for nothing */
  int32_t root_count;
  int32_t* feed_sites; /* plans that keep values: by feed, the site that its arrival is; else NULL */
  bool calls; /* some site runs elsewhere */
  int32_t widest; /* inputs of the widest site */
  bool sends; /* some loop sends values to another part */
} hr_flow_t;

/* Whether a plan of these nodes needs the general path. */
HR_MUST_USE hr_status_t hr_flow_is_needed(hr_node_t* const* nodes, int64_t count, bool* out);
/* flow_plan.c: everything of a plan of the general path but kernels. */
HR_MUST_USE hr_status_t hr_flow_build(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order,
                                      int64_t id_limit);
void hr_flow_choose_actions(hr_plan_t* p, hr_node_t* const* order); /* once kernels are chosen */

/* --- of a step --------------------------------------------------------------------------------------------------------------------- */

typedef struct hr_flow_loop hr_flow_loop_t;
typedef struct hr_flow_block {
  hr_slot_t* slots;
  hr_flow_counter_t* counters;
  int32_t* uses;
  hr_flow_loop_t** children; /* open loops that this iteration entered */
  hr_flow_loop_t* loop;
  struct hr_flow_block* next; /* among the free ones */
  int64_t iteration;
  int32_t outstanding; /* sites ready or running, children open */
} hr_flow_block_t;

struct hr_flow_loop {
  const hr_flow_frame_t* info;
  hr_flow_loop_t *next, *previous; /* among the open ones; next: among the free ones */
  hr_flow_block_t* parent;
  hr_flow_block_t** ring; /* open iterations; iteration i is ring[i & info->ring_mask] */
  int64_t oldest;
  int32_t open;
  int32_t enters_left;
  int32_t parked_count;
  int32_t* parked;          /* sites of NextIterations that wait for an iteration to end */
  hr_slot_t* parked_values; /* by index of the NextIteration */
  int32_t* died;            /* sites of NextIterations of the newest iteration that are dead */
  int32_t died_count;
  hr_slot_t* invariants;
  uint8_t* arrived; /* by invariant: HR_INVARIANT_ */
  bool* exited;     /* by Exit: a value went out */
  uint64_t frame_id;
};
enum { HR_INVARIANT_MISSING, HR_INVARIANT_LIVE, HR_INVARIANT_DEAD };

typedef struct {
  hr_flow_block_t* block;
  int32_t site;
  bool dead;
} hr_flow_ready_t;

struct hr_flow_calls;
typedef struct hr_flow_run {
  hr_frame_t base; /* first: leased like any frame */
  const hr_flow_t* flow;
  hr_step_t* step;        /* of this step; its cancellation is our own where sites run elsewhere */
  hr_status_t status;     /* the first failure; nothing is activated after it */
  hr_flow_ready_t* ready; /* a ring */
  uint32_t ready_mask, ready_head, ready_tail;
  int64_t ready_most; /* sites of all open blocks */
  hr_flow_loop_t root;
  hr_flow_block_t* root_block;
  hr_flow_loop_t* open;        /* but the root */
  hr_flow_loop_t** free_loops; /* by frame */
  hr_flow_block_t** free_blocks;
  hr_site_t last_reader;       /* a site as it is when it alone is left to read a value */
  uint8_t* last_flags;         /* its inputs' */
  struct hr_flow_calls* calls; /* NULL where all sites run here */
} hr_flow_run_t;

/* flow_state.c */
hr_flow_run_t* hr_flow_run_create(const hr_plan_t* p); /* NULL: out of memory */
void hr_flow_run_destroy(hr_flow_run_t* r);
void hr_flow_reset(hr_flow_run_t* r); /* before a step */
void hr_flow_clear(hr_flow_run_t* r); /* after it: closes what is open, releases all values but those that are fetched */
hr_flow_block_t* hr_flow_block_take(hr_flow_run_t* r, hr_flow_loop_t* l, int64_t iteration); /* NULL: out of memory */
void hr_flow_block_give(hr_flow_run_t* r, hr_flow_block_t* b);
hr_flow_loop_t* hr_flow_loop_take(hr_flow_run_t* r, hr_flow_block_t* parent, int32_t frame); /* with iteration 0; NULL: out of memory */
void hr_flow_loop_give(hr_flow_run_t* r, hr_flow_loop_t* l);

/* activate.c */
void hr_flow_activate_roots(hr_flow_run_t* r);
void hr_flow_activate_feed(hr_flow_run_t* r, int32_t feed); /* of a plan that keeps values */
void hr_flow_ran(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s);                       /* all its outputs are alive */
void hr_flow_ran_partly(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, int32_t alive); /* only output `alive`; -1: none */
void hr_flow_died(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s);
void hr_flow_entered(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, bool dead);
void hr_flow_exited(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s);
void hr_flow_went_on(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s);
/* Input `input` of site s goes on to a slot: moved by the last reader, else shared. */
void hr_flow_hand_over(hr_flow_block_t* b, const hr_flow_site_t* s, int32_t input, hr_slot_t* to);
static inline int32_t hr_flow_merge_winner(const hr_flow_block_t* b, const hr_flow_site_t* s) { return ~b->counters[s->counter].dead; }

/* flow_run.c */
HR_MUST_USE hr_status_t hr_flow_run(hr_plan_t* p, hr_frame_t* frame, hr_step_t* step);
/* What is ready and what that makes ready; everything stays open. A failure is the caller's, and the last thing that may happen. */
HR_MUST_USE hr_status_t hr_flow_resume(const hr_plan_t* p, hr_frame_t* frame, hr_step_t* step);
void hr_flow_fail(hr_flow_run_t* r, const hr_site_t* site, hr_status_t take_status); /* site NULL: of no node */
/* A kernel has ended; `dead`: it ran though it was dead (_Send, _Recv). */
void hr_flow_finish(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, hr_kernel_ctx_t* k, bool dead, hr_status_t take_status,
                    int64_t start_ns, int64_t end_ns);

/* flow_calls.c */
struct hr_flow_calls* hr_flow_calls_create(void); /* NULL: out of memory */
void hr_flow_calls_destroy(struct hr_flow_calls* c);
hr_step_t* hr_flow_calls_begin(hr_flow_run_t* r, hr_step_t* step); /* a step like it that we may cancel */
void hr_flow_calls_end(hr_flow_run_t* r);
void hr_flow_calls_cancel(hr_flow_run_t* r, hr_status_t take_why);
void hr_flow_call(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, bool dead);
bool hr_flow_calls_take(hr_flow_run_t* r, bool wait); /* finishes those that have ended; false: there are none under way */
bool hr_flow_calls_ended(const hr_flow_run_t* r);
#endif
