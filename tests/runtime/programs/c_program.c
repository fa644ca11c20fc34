/* Every call of attune.h on real ranks, and what wrong use says. Exit 0 = all right; after a wrong answer the rank says which and ends with 1. */
#include <attune/attune.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 5, most = 8 }; /* elements of a block; ranks */

static attune_communicator* team;
static int rank, size;

static void require(int right, const char* what) {
    if (right) return;
    fprintf(stderr, "c_program: rank %d: wrong: %s\n", rank, what);
    exit(1);
}

static void succeed(int code, const char* what) {
    if (code == 0) return;
    fprintf(stderr, "c_program: rank %d: %s: %s\n", rank, what, attune_last_error());
    exit(code);
}

static void refuse(int code, const char* part) {
    if (code == ATTUNE_USAGE && strstr(attune_last_error(), part) != NULL) return;
    fprintf(stderr, "c_program: rank %d: wrong: code %d and '%s' instead of 2 and '%s'\n", rank, code, attune_last_error(), part);
    exit(1);
}

/* Element i of block b of rank r; the blocks of a rank are what it sends to each. */
static int32_t value(int r, int b, int i) {
    return r * 10000 + b * 100 + i;
}

static void fill(int32_t* values, int r, int first, int blocks) {
    for (int b = 0; b < blocks; ++b)
        for (int i = 0; i < n; ++i)
            values[b * n + i] = value(r, first + b, i);
}

static int32_t sum_until(int last, int b, int i) {
    int32_t sum = 0;
    for (int r = 0; r < last; ++r)
        sum += value(r, b, i);
    return sum;
}

static void check_reductions(void) {
    int32_t input[n], output[n], large[n * most];
    fill(input, rank, 0, 1);
    succeed(attune_all_reduce(team, input, output, n, ATTUNE_INT32, ATTUNE_SUM), "attune_all_reduce");
    for (int i = 0; i < n; ++i)
        require(output[i] == sum_until(size, 0, i), "attune_all_reduce");
    succeed(attune_all_reduce(team, ATTUNE_IN_PLACE, output, n, ATTUNE_INT32, ATTUNE_MAX), "attune_all_reduce in place");
    require(output[1] == sum_until(size, 0, 1), "attune_all_reduce in place");
    memset(output, 0, sizeof output);
    succeed(attune_reduce(team, input, rank == size - 1 ? output : NULL, n, ATTUNE_INT32, ATTUNE_SUM, size - 1), "attune_reduce");
    for (int i = 0; i < n; ++i)
        require(output[i] == (rank == size - 1 ? sum_until(size, 0, i) : 0), "attune_reduce");
    succeed(attune_scan(team, input, output, n, ATTUNE_INT32, ATTUNE_SUM), "attune_scan");
    require(output[2] == sum_until(rank + 1, 0, 2), "attune_scan");
    output[2] = -1;
    succeed(attune_exscan(team, input, output, n, ATTUNE_INT32, ATTUNE_SUM), "attune_exscan");
    require(output[2] == (rank == 0 ? -1 : sum_until(rank, 0, 2)), "attune_exscan");
    fill(large, rank, 0, size);
    succeed(attune_reduce_scatter(team, large, output, n, ATTUNE_INT32, ATTUNE_SUM), "attune_reduce_scatter");
    for (int i = 0; i < n; ++i)
        require(output[i] == sum_until(size, rank, i), "attune_reduce_scatter");
}

static void check_moves(int root) {
    int32_t own[n], large[n * most], output[n * most];
    const int is_root = rank == root;
    fill(own, rank, 0, 1);
    fill(large, rank, 0, size);
    succeed(attune_broadcast(team, is_root ? own : NULL, output, n, ATTUNE_INT32, root), "attune_broadcast");
    require(output[3] == value(root, 0, 3), "attune_broadcast");
    succeed(attune_gather(team, own, is_root ? output : NULL, n, ATTUNE_INT32, root), "attune_gather");
    for (int q = 0; is_root && q < size; ++q)
        require(output[q * n + 4] == value(q, 0, 4), "attune_gather");
    succeed(attune_scatter(team, is_root ? large : NULL, output, n, ATTUNE_INT32, root), "attune_scatter");
    require(output[1] == value(root, rank, 1), "attune_scatter");
    succeed(attune_all_gather(team, own, output, n, ATTUNE_INT32), "attune_all_gather");
    require(output[root * n] == value(root, 0, 0), "attune_all_gather");
    memcpy(output + rank * n, own, sizeof own);
    succeed(attune_all_gather(team, ATTUNE_IN_PLACE, output, n, ATTUNE_INT32), "attune_all_gather in place");
    require(output[root * n + 2] == value(root, 0, 2), "attune_all_gather in place");
    succeed(attune_all_to_all(team, large, output, n, ATTUNE_INT32), "attune_all_to_all");
    require(output[root * n + 1] == value(root, rank, 1), "attune_all_to_all");
}

/* Rank q has q + 1 elements. */
static void check_counts(int root) {
    int32_t input[most * most], output[most * most], own[most];
    uint64_t counts[most], one_each[most];
    int before = 0;
    for (int q = 0; q < size; ++q) {
        counts[q] = (uint64_t)q + 1;
        one_each[q] = 1;
        if (q < rank) before += q + 1;
        input[q] = value(rank, q, 0);
    }
    const uint64_t mine = counts[rank];
    for (int i = 0; i < most; ++i)
        own[i] = value(rank, 0, i);
    succeed(attune_all_gather_v(team, own, output, counts, ATTUNE_INT32), "attune_all_gather_v");
    require(output[before] == value(rank, 0, 0), "attune_all_gather_v");
    require(output[size * (size + 1) / 2 - 1] == value(size - 1, 0, size - 1), "the end of attune_all_gather_v");
    succeed(attune_gather_v(team, own, mine, output, rank == root ? counts : NULL, ATTUNE_INT32, root), "attune_gather_v");
    require(rank != root || output[size * (size + 1) / 2 - 1] == value(size - 1, 0, size - 1), "attune_gather_v");
    succeed(attune_scatter_v(team, output, rank == root ? counts : NULL, own, mine, ATTUNE_INT32, root), "attune_scatter_v");
    require(own[mine - 1] == value(rank, 0, rank), "attune_scatter_v gives back what attune_gather_v took");
    succeed(attune_all_to_all_v(team, input, one_each, output, one_each, ATTUNE_INT32), "attune_all_to_all_v");
    require(output[root] == value(root, rank, 0), "attune_all_to_all_v");
    succeed(attune_reduce_scatter_v(team, input, own, one_each, ATTUNE_INT32, ATTUNE_SUM), "attune_reduce_scatter_v");
    require(own[0] == sum_until(size, rank, 0), "attune_reduce_scatter_v");
}

static void check_messages(void) {
    int32_t input[n], output[n] = {0};
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    fill(input, rank, 0, 1);
    if (size == 1) return;
    succeed(attune_send_recv(team, input, next, output, previous, n, ATTUNE_INT32), "attune_send_recv");
    require(output[4] == value(previous, 0, 4), "attune_send_recv");
    memset(output, 0, sizeof output);
    const attune_transfer transfers[2] = {{0, previous, 2, 1}, {1, next, 2, 3}};
    succeed(attune_batch_send_recv(team, input, output, transfers, 2, ATTUNE_INT32), "attune_batch_send_recv");
    require(output[0] == 0 && output[1] == value(previous, 0, 3) && output[2] == value(previous, 0, 4) && output[3] == 0, "attune_batch_send_recv");
}

static void check_requests(void) {
    int64_t input = rank, output = 0, twice = 0;
    attune_call call = ATTUNE_CALL;
    call.collective = ATTUNE_ALL_REDUCE;
    call.count = 1;
    call.dtype = ATTUNE_INT64;
    attune_request *first = NULL, *second = NULL;
    succeed(attune_start(team, &call, &input, &output, &first), "attune_start");
    succeed(attune_start(team, &call, &input, &twice, &second), "attune_start");
    for (int done = 0; done == 0;)
        succeed(attune_test(first, &done), "attune_test");
    attune_request* const both[2] = {first, second};
    succeed(attune_wait_all(both, 2), "attune_wait_all");
    require(output == size * (size - 1) / 2 && twice == output, "attune_start");
    succeed(attune_wait(NULL), "attune_wait of nothing");

    attune_prepared* prepared = NULL;
    succeed(attune_prepare(team, &call, &input, &output, &prepared), "attune_prepare");
    for (int turn = 0; turn < 3; ++turn) {
        input = turn;
        succeed(attune_start_prepared(prepared, &first), "attune_start_prepared");
        refuse(attune_start_prepared(prepared, &second), "started already");
        succeed(attune_wait(first), "attune_wait of a prepared call");
        require(output == turn * size, "attune_start_prepared");
    }
    input = 9;
    succeed(attune_run_prepared(prepared), "attune_run_prepared");
    require(output == 9 * size, "attune_run_prepared");
    attune_free_prepared(prepared);
}

/* Even and odd ranks sum at once, in their own communicators and in a copy of all. */
static void check_teams(void) {
    attune_communicator *half = NULL, *copy = NULL, *nobody = NULL;
    succeed(attune_split(team, rank % 2, -rank, &half), "attune_split");
    succeed(attune_split(team, -1, 0, &nobody), "attune_split");
    succeed(attune_dup(team, &copy), "attune_dup");
    require(nobody == NULL, "a negative color is in no communicator");
    int place = -1, members = 0;
    succeed(attune_rank(half, &place), "attune_rank");
    succeed(attune_size(half, &members), "attune_size");
    require(members == (size + 1 - rank % 2) / 2 && place == members - 1 - rank / 2, "ordered by key");

    int64_t own = rank, of_half = 0, of_all = 0, wanted = 0;
    for (int r = rank % 2; r < size; r += 2)
        wanted += r;
    attune_call call = ATTUNE_CALL;
    call.collective = ATTUNE_ALL_REDUCE;
    call.count = 1;
    call.dtype = ATTUNE_INT64;
    attune_group* group = NULL;
    succeed(attune_group_open(&group), "attune_group_open");
    succeed(attune_group_add(group, half, &call, &own, &of_half), "attune_group_add");
    succeed(attune_group_add(group, copy, &call, &own, &of_all), "attune_group_add");
    succeed(attune_group_run(group), "attune_group_run");
    attune_group_close(group);
    require(of_half == wanted && of_all == size * (size - 1) / 2, "attune_group_run");

    char text[128] = "";
    succeed(attune_explain(copy, &call, 1, text, sizeof text), "attune_explain");
    require(strstr(text, "algorithm=") == text && strstr(text, "; default, none: ") != NULL, text);
    succeed(attune_explain(copy, &call, 1, text, 8), "attune_explain");
    require(strcmp(text, "algorit") == 0, "attune_explain keeps to its room");
    require(attune_db_load(copy, "/nowhere/at/all.attune.db") == ATTUNE_NOT_FOUND && strstr(attune_last_error(), "/nowhere/at/all.attune.db") != NULL,
            "attune_db_load of no file");
    succeed(attune_db_forget(copy), "attune_db_forget");
    attune_close(half);
    attune_close(copy);
}

static void check_wrong_use(void) {
    int32_t data[4] = {0};
    int number = 0;
    attune_request* request = NULL;
    attune_call call = ATTUNE_CALL;
    refuse(attune_all_reduce(team, NULL, data, 4, ATTUNE_INT32, ATTUNE_SUM), "null");
    refuse(attune_all_reduce(team, ATTUNE_IN_PLACE, NULL, 4, ATTUNE_INT32, ATTUNE_SUM), "null");
    refuse(attune_all_reduce(team, data, (void*)ATTUNE_IN_PLACE, 4, ATTUNE_INT32, ATTUNE_SUM), "ATTUNE_IN_PLACE");
    refuse(attune_all_reduce(NULL, data, data + 2, 2, ATTUNE_INT32, ATTUNE_SUM), "the communicator is NULL");
    refuse(attune_all_reduce(team, data, data + 1, 2, ATTUNE_INT32, ATTUNE_SUM), "overlap");
    refuse(attune_all_reduce(team, ATTUNE_IN_PLACE, data, 4, 99, ATTUNE_SUM), "dtype 99");
    refuse(attune_all_reduce(team, ATTUNE_IN_PLACE, data, 4, ATTUNE_INT32, -1), "op -1");
    refuse(attune_all_reduce(team, ATTUNE_IN_PLACE, data, 4, ATTUNE_INT32, ATTUNE_AVG), "avg does not work on int32");
    refuse(attune_broadcast(team, ATTUNE_IN_PLACE, data, 4, ATTUNE_INT32, size), "root");
    refuse(attune_batch_send_recv(team, data, data, NULL, 1, ATTUNE_INT32), "transfers is NULL");
    refuse(attune_run(team, NULL, data, data), "the call is NULL");
    refuse(attune_start(team, &call, NULL, NULL, NULL), "the place for the request is NULL");
    call.collective = 40;
    refuse(attune_start(team, &call, NULL, NULL, &request), "collective 40");
    require(request == NULL, "a refused start leaves no request");
    refuse(attune_rank(NULL, &number), "the communicator is NULL");
    refuse(attune_size(team, NULL), "the place for the size is NULL");
    refuse(attune_open(NULL, NULL), "the place for the communicator is NULL");
    attune_tuned tuned;
    call.collective = ATTUNE_ALL_REDUCE;
    refuse(attune_tune(team, &call, 0, 0, &tuned), "at least 1 s");
    refuse(attune_db_load(team, NULL), "the path of the database is NULL");
    refuse(attune_group_run(NULL), "the group is NULL");
    refuse(attune_split(NULL, 0, 0, NULL), "the communicator is NULL");
    attune_group_close(NULL);
    attune_close(NULL);
    attune_free_prepared(NULL);
    succeed(attune_barrier(team), "attune_barrier after all that");
}

int main(void) {
    const attune_options options = {NULL, "off", NULL, ""};
    require(attune_last_error()[0] == '\0', "no failure yet, no message");
    succeed(attune_open(&options, &team), "attune_open");
    succeed(attune_rank(team, &rank), "attune_rank");
    succeed(attune_size(team, &size), "attune_size");
    require(size <= most, "at most 8 ranks");
    check_reductions();
    for (int root = 0; root < size; ++root) {
        check_moves(root);
        check_counts(root);
    }
    check_messages();
    check_requests();
    check_teams();
    check_wrong_use();
    attune_close(team);
    return 0;
}
