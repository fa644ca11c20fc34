/* The C interface: a sum over all ranks, blocking, started and prepared. attune-run -n 2 -- all_reduce_c */
#include <attune/attune.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 1000 };

static int failed(const char* what, int code) {
    fprintf(stderr, "all_reduce_c: %s: %s\n", what, attune_last_error());
    return code;
}

/* Element i of rank r is r + i % 7: small, so that every sum is exact. */
static void fill(float* values, int rank) {
    for (int i = 0; i < count; ++i)
        values[i] = (float)(rank + i % 7);
}

static int64_t wrong_sums(const float* sums, int size) {
    int64_t wrong = 0;
    for (int i = 0; i < count; ++i)
        wrong += sums[i] != (float)(size * (size - 1) / 2 + size * (i % 7));
    return wrong;
}

static int add_up(attune_communicator* team, float* input, float* sums, int64_t* wrong) {
    int rank = 0, size = 0, code = 0;
    if ((code = attune_rank(team, &rank)) != 0 || (code = attune_size(team, &size)) != 0) return failed("rank and size", code);
    fill(input, rank);

    if ((code = attune_all_reduce(team, input, sums, count, ATTUNE_FLOAT32, ATTUNE_SUM)) != 0) return failed("attune_all_reduce", code);
    *wrong = wrong_sums(sums, size);

    /* The same again in one buffer, prepared once and started three times. */
    attune_call call = ATTUNE_CALL;
    call.collective = ATTUNE_ALL_REDUCE;
    call.count = count;
    attune_prepared* prepared = NULL;
    if ((code = attune_prepare(team, &call, ATTUNE_IN_PLACE, sums, &prepared)) != 0) return failed("attune_prepare", code);
    for (int turn = 0; turn < 3 && code == 0; ++turn) {
        attune_request* request = NULL;
        fill(sums, rank);
        code = attune_start_prepared(prepared, &request);
        if (code == 0) code = attune_wait(request);
        *wrong += wrong_sums(sums, size);
    }
    attune_free_prepared(prepared);
    if (code != 0) return failed("the prepared call", code);

    if ((code = attune_all_reduce(team, ATTUNE_IN_PLACE, wrong, 1, ATTUNE_INT64, ATTUNE_SUM)) != 0) return failed("attune_all_reduce", code);
    if (rank == 0) printf("%d ranks, %d elements, wrong: %lld\n", size, (int)count, (long long)*wrong);
    return 0;
}

int main(void) {
    attune_communicator* team = NULL;
    int code = attune_open(NULL, &team);
    if (code != 0) return failed("attune_open", code);
    float* input = malloc(count * sizeof *input);
    float* sums = malloc(count * sizeof *sums);
    int64_t wrong = 0;
    code = input == NULL || sums == NULL ? ATTUNE_FAILURE : add_up(team, input, sums, &wrong);
    free(input);
    free(sums);
    attune_close(team);
    return code != 0 ? code : wrong != 0 ? 4 : 0;
}
