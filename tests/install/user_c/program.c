#include <attune/attune.h>

#include <stdio.h>

int main(void) {
    attune_communicator* team = NULL;
    int rank = 0, size = 0, code = attune_open(NULL, &team);
    if (code == 0) code = attune_rank(team, &rank);
    if (code == 0) code = attune_size(team, &size);
    int sum = rank + 1;
    if (code == 0) code = attune_all_reduce(team, ATTUNE_IN_PLACE, &sum, 1, ATTUNE_INT32, ATTUNE_SUM);
    if (code != 0) fprintf(stderr, "%s\n", attune_last_error());
    if (code == 0) printf("rank %d of %d: %d\n", rank, size, sum);
    attune_close(team);
    return code;
}
