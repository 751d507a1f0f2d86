/* Runs one loop of tsvc.c, whose main calls tsvc_loop for each:   PROGRAM LOOP RUNS cpu|wall
   Prints the seconds of a run, and a number that is made of all results, bit by bit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common.h"
#include "array_defs.h"
#undef main

int tsvc_runs;
int tsvc_main(void);
static const char *chosen;
static int runs;
static clockid_t kind;
static double stamp, taken;

/* Called at the beginning and at the end of what is timed: `taken` is what lies between the last two calls. */
void tsvc_clock(void)
{
    struct timespec now;
    clock_gettime(kind, &now);
    double seconds = now.tv_sec + 1e-9 * now.tv_nsec;
    taken = seconds - stamp;
    stamp = seconds;
}

static uint64_t mixed(uint64_t sum, const void *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        sum = (sum ^ ((const unsigned char *)bytes)[k]) * 1099511628211u;
    return sum;
}

void tsvc_loop(const char *name, float (*loop)(struct args_t *), void *argument)
{
    if (strcmp(name, chosen))
        return;
    struct args_t given = {.arg_info = argument};
    tsvc_runs = 2; /* caches, pages, threads */
    loop(&given);
    tsvc_runs = runs;
    float result = loop(&given);
    uint64_t sum = mixed(14695981039346656037u, &result, sizeof result);
#define MIX(array) sum = mixed(sum, array, sizeof array)
    MIX(a), MIX(b), MIX(c), MIX(d), MIX(e), MIX(x), MIX(aa), MIX(bb), MIX(cc), MIX(tt), MIX(flat_2d_array), MIX(indx);
    printf("%.9g %016llx\n", taken / runs, (unsigned long long)sum);
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    chosen = words[1];
    runs = atoi(words[2]);
    kind = strcmp(words[3], "cpu") ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    return tsvc_main();
}
