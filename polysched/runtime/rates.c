/* What `polysched calibrate` runs: the clock of a core, and how fast data come to it. */

long count(long times) {
    long n = 0;
    for (long t = 0; t < times; t++) {
        n += 1;
        __asm__ volatile("" : "+r"(n)); /* one addition waits for the other, a cycle each */
    }
    return n;
}

void update(long n, long times, const double *restrict x, double *restrict y) {
    for (long t = 0; t < times; t++) {
        for (long i = 0; i < n; i++) {
            y[i] += 0.5 * x[i];
        }
        __asm__ volatile("" : : "r"(y) : "memory");
    }
}
