/* attune for C: the calls of attune.hpp. Every function returns 0 or an error code and never throws; attune_last_error() is the message.
 *
 *   attune_communicator* team;
 *   if (attune_open(NULL, &team) != 0) { fprintf(stderr, "%s\n", attune_last_error()); return 1; }
 *   attune_all_reduce(team, ATTUNE_IN_PLACE, gradient, count, ATTUNE_FLOAT32, ATTUNE_SUM);
 *   attune_close(team);
 *
 * Calls are collective and in the same order on all ranks. A communicator and what was made of it belong to one thread at a time. */
#ifndef ATTUNE_ATTUNE_H
#define ATTUNE_ATTUNE_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define ATTUNE_C_EXPORT __attribute__((visibility("default")))

/* What functions return: what a program should end with. */
enum {
    ATTUNE_OK = 0,
    ATTUNE_FAILURE = 1,   /* a rank is gone, a time ran out, ranks call different things, no memory */
    ATTUNE_USAGE = 2,     /* wrong use: a null buffer, an unknown type, a root that is no rank */
    ATTUNE_NOT_FOUND = 3, /* no applicable row with ATTUNE_DB_MODE=require */
    ATTUNE_DAMAGED = 4    /* a damaged database with ATTUNE_DB_MODE=require */
};

/* Plain numbers, so that a wrong value is an error and nothing worse. */
typedef int attune_collective;
typedef int attune_dtype;
typedef int attune_op;

enum {
    ATTUNE_ALL_REDUCE,
    ATTUNE_ALL_GATHER,
    ATTUNE_REDUCE_SCATTER,
    ATTUNE_BROADCAST,
    ATTUNE_REDUCE,
    ATTUNE_GATHER,
    ATTUNE_SCATTER,
    ATTUNE_ALL_TO_ALL,
    ATTUNE_BARRIER,
    ATTUNE_SCAN,
    ATTUNE_EXSCAN,
    ATTUNE_ALL_GATHER_V,
    ATTUNE_REDUCE_SCATTER_V,
    ATTUNE_GATHER_V,
    ATTUNE_SCATTER_V,
    ATTUNE_ALL_TO_ALL_V,
    ATTUNE_SEND_RECV,
    ATTUNE_BATCH_SEND_RECV
};

enum {
    ATTUNE_FLOAT32,
    ATTUNE_FLOAT64,
    ATTUNE_INT32,
    ATTUNE_INT64,
    ATTUNE_INT8,
    ATTUNE_INT16,
    ATTUNE_UINT8,
    ATTUNE_UINT16,
    ATTUNE_UINT32,
    ATTUNE_UINT64,
    ATTUNE_FLOAT16,
    ATTUNE_BFLOAT16
};

/* avg: floating types only; band, bor, bxor: integers only. */
enum { ATTUNE_SUM, ATTUNE_PROD, ATTUNE_MIN, ATTUNE_MAX, ATTUNE_AVG, ATTUNE_BAND, ATTUNE_BOR, ATTUNE_BXOR };

typedef struct attune_communicator attune_communicator;
typedef struct attune_request attune_request;   /* a started call */
typedef struct attune_prepared attune_prepared; /* a call that is started again and again */
typedef struct attune_group attune_group;       /* calls that are started together */

/* As the input: one buffer, the larger, passed as the output; the rank's own slice of it is the smaller one. */
#define ATTUNE_IN_PLACE ((const void*)(intptr_t)-1)

/* Message of this thread's last failure; "" when there was none. Valid until the thread's next call. Never NULL. */
ATTUNE_C_EXPORT const char* attune_last_error(void);

/* What beats the environment. NULL or "" = as the environment says. */
typedef struct {
    const char* database; /* a release to use instead of the default paths (ATTUNE_DB) */
    const char* mode;     /* "use", "off", "require" (ATTUNE_DB_MODE) */
    const char* force;    /* "all_reduce=ring,segment_bytes=64K;broadcast=binomial" (ATTUNE_FORCE) */
    const char* log;      /* "error", "warn", "info", "debug" (ATTUNE_LOG) */
} attune_options;

/* Collective. As a rank of attune-run it meets the others; started without a launcher it is alone. `options` may be NULL. */
ATTUNE_C_EXPORT int attune_open(const attune_options* options, attune_communicator** team);
/* NULL is nothing. Requests and prepared calls keep what they need. */
ATTUNE_C_EXPORT void attune_close(attune_communicator* team);
ATTUNE_C_EXPORT int attune_rank(const attune_communicator* team, int* rank);
ATTUNE_C_EXPORT int attune_size(const attune_communicator* team, int* size);

/* Collective: a communicator for the ranks of each color, ordered by key and then by rank; NULL for a negative color. It may outlive this one, and both may
 * be used at once. Close it, too. */
ATTUNE_C_EXPORT int attune_split(attune_communicator* team, int color, int key, attune_communicator** made);
ATTUNE_C_EXPORT int attune_dup(attune_communicator* team, attune_communicator** made);

/* Collective: another release for this communicator alone; 3 when there is none or it holds nothing for this team, 4 when it is damaged: then everything
 * stays as it was. */
ATTUNE_C_EXPORT int attune_db_load(attune_communicator* team, const char* path);
/* On all ranks at the same point: back to the defaults. */
ATTUNE_C_EXPORT int attune_db_forget(attune_communicator* team);

/* One message of a batch; count and offset in elements, of the input for a send, of the output for a receive. */
typedef struct {
    int is_send;
    int peer;
    uint64_t count;
    uint64_t offset;
} attune_transfer;

/* One call, without its buffers: attune/calls.hpp says what each collective reads of it and the sizes of the buffers. Arrays are read until the call has
 * been started or prepared; counts and offsets have one value per rank, the matrix one per pair. NULL offsets: blocks are packed in rank order. Begin
 * with ATTUNE_CALL: attune_call call = ATTUNE_CALL; call.collective = ATTUNE_SCAN; ... */
typedef struct {
    attune_collective collective;
    attune_dtype dtype;
    attune_op op;
    int root;
    uint64_t count;
    const uint64_t* send;
    const uint64_t* receive;
    const uint64_t* send_offsets;
    const uint64_t* receive_offsets;
    const uint64_t* matrix;
    int destination;
    int source;
    const attune_transfer* transfers;
    uint64_t transfer_count;
} attune_call;
#define ATTUNE_CALL \
    { ATTUNE_BARRIER, ATTUNE_FLOAT32, ATTUNE_SUM, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0 }

/* Runs a call, starts it, or prepares it for many starts with the same buffers. */
ATTUNE_C_EXPORT int attune_run(attune_communicator* team, const attune_call* call, const void* input, void* output);
ATTUNE_C_EXPORT int attune_start(attune_communicator* team, const attune_call* call, const void* input, void* output, attune_request** request);
ATTUNE_C_EXPORT int attune_prepare(attune_communicator* team, const attune_call* call, const void* input, void* output, attune_prepared** prepared);
/* Does not allocate after the first start. */
ATTUNE_C_EXPORT int attune_start_prepared(attune_prepared* prepared, attune_request** request);
ATTUNE_C_EXPORT int attune_run_prepared(attune_prepared* prepared);
/* Waits for a start that was not waited for; its request is invalid afterwards. NULL is nothing. */
ATTUNE_C_EXPORT void attune_free_prepared(attune_prepared* prepared);

/* Calls of one or several communicators, started together by attune_group_run(), which waits for all and forgets them. Only the calls of each communicator
 * must be in the same order on its ranks. Communicators and buffers must live until then. Closing runs what was added and not run. */
ATTUNE_C_EXPORT int attune_group_open(attune_group** group);
ATTUNE_C_EXPORT int attune_group_add(attune_group* group, attune_communicator* team, const attune_call* call, const void* input, void* output);
ATTUNE_C_EXPORT int attune_group_run(attune_group* group);
ATTUNE_C_EXPORT void attune_group_close(attune_group* group);

/* What the call uses and why, as one line of at most `size` bytes with its end: "algorithm=ring,...; tuned, exact: row 12 covers 8 B .. 512 B". */
ATTUNE_C_EXPORT int attune_explain(attune_communicator* team, const attune_call* call, int in_place, char* text, uint64_t size);

typedef struct {
    int applied; /* proven faster: this communicator uses it from the next call on */
    double gain; /* time of what would have run, divided by the time of the fastest found; with its 99 % interval */
    double gain_low;
    double gain_high;
    double seconds;
    char config[256]; /* the fastest found */
    char reason[256]; /* why nothing was applied; "" when it was */
} attune_tuned;
/* Collective: measures other configurations of the call on these ranks for about so long and keeps one that is proven faster. Takes buffers of its own.
 * Needs all ranks on one machine. */
ATTUNE_C_EXPORT int attune_tune(attune_communicator* team, const attune_call* call, int in_place, int seconds, attune_tuned* found);

/* Moves all calls of the communicator on; *done becomes 1 when this one is over. The request stays until attune_wait(). */
ATTUNE_C_EXPORT int attune_test(attune_request* request, int* done);
/* Ends the request, also when it fails: the pointer is invalid afterwards. NULL is done. */
ATTUNE_C_EXPORT int attune_wait(attune_request* request);
/* Ends all of them and returns the first failure. */
ATTUNE_C_EXPORT int attune_wait_all(attune_request* const* requests, uint64_t count);

/* The blocking calls, with sizes and offsets as in attune_call. Buffers that only the root uses may be NULL elsewhere. */
ATTUNE_C_EXPORT int attune_all_reduce(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op);
ATTUNE_C_EXPORT int attune_all_gather(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype);
ATTUNE_C_EXPORT int attune_reduce_scatter(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op);
ATTUNE_C_EXPORT int attune_broadcast(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, int root);
ATTUNE_C_EXPORT int attune_reduce(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op, int root);
ATTUNE_C_EXPORT int attune_gather(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, int root);
ATTUNE_C_EXPORT int attune_scatter(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, int root);
ATTUNE_C_EXPORT int attune_all_to_all(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype);
ATTUNE_C_EXPORT int attune_barrier(attune_communicator* team);
ATTUNE_C_EXPORT int attune_scan(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op);
ATTUNE_C_EXPORT int attune_exscan(attune_communicator* team, const void* input, void* output, uint64_t count, attune_dtype dtype, attune_op op);
ATTUNE_C_EXPORT int attune_all_gather_v(attune_communicator* team, const void* input, void* output, const uint64_t* counts, attune_dtype dtype);
ATTUNE_C_EXPORT int attune_reduce_scatter_v(attune_communicator* team, const void* input, void* output, const uint64_t* counts, attune_dtype dtype,
                                            attune_op op);
/* `counts` is the root's, NULL elsewhere; `count` is this rank's own. */
ATTUNE_C_EXPORT int attune_gather_v(attune_communicator* team, const void* input, uint64_t count, void* output, const uint64_t* counts, attune_dtype dtype,
                                    int root);
ATTUNE_C_EXPORT int attune_scatter_v(attune_communicator* team, const void* input, const uint64_t* counts, void* output, uint64_t count, attune_dtype dtype,
                                     int root);
ATTUNE_C_EXPORT int attune_all_to_all_v(attune_communicator* team, const void* input, const uint64_t* send, void* output, const uint64_t* receive,
                                        attune_dtype dtype);
/* -1 as a rank: nothing goes there or comes from there. */
ATTUNE_C_EXPORT int attune_send_recv(attune_communicator* team, const void* input, int destination, void* output, int source, uint64_t count,
                                     attune_dtype dtype);
/* All of them at once, without deadlock in any order; between two ranks the k-th send meets the k-th receive. */
ATTUNE_C_EXPORT int attune_batch_send_recv(attune_communicator* team, const void* input, void* output, const attune_transfer* transfers,
                                           uint64_t transfer_count, attune_dtype dtype);

#if defined(__cplusplus)
}
#endif

#endif
