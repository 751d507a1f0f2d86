/* Threads for the parallel loops of kernels, in place of those of gcc's OpenMP, whose calls these are.

   There, a loop ends when all threads of a team have come to its end, so that a thread that has to wait for a processor
   keeps the others waiting, loop after loop: milliseconds each, where other programs run. Here a loop is cut into parts,
   and whoever has time takes the next one: the caller from the first part on, the others from the last one on, so that
   a thread gets the same elements in each loop if all run. A loop ends when its parts have; who comes late finds none.

   What kernels have is `parallel for schedule(static)` alone, whose parts know which of how many they are. A loop inside
   of a loop, and one of a second caller at the same time, runs on its caller. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PARTS = 4,     /* of a loop, for each thread */
    MOST = 1024,   /* threads */
    SPINS = 20000, /* looks for the next loop, of some nanoseconds each, before a thread sleeps */
    PATIENCE = 500 /* looks for the end of the others, before the processor is left to them */
};

typedef void body(void *);

static struct {
    body *run;
    void *data;
    int parts;
} job;                        /* belongs to the caller until a part is taken, and as long as one is not done */
static _Atomic uint64_t open; /* the number of the loop << 32 | the part behind the last one << 16 | the first one */
static atomic_int done, threads, started, asleep;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static __thread int part, count = 1; /* what the loop that runs here is told */

int omp_get_thread_num(void) { return part; }

int omp_get_num_threads(void) { return count; }

static int processors(void)
{
    cpu_set_t set;
    const char *asked = getenv("OMP_NUM_THREADS");
    const int number = asked ? atoi(asked) : 0;
    const int found = number > 0 ? number : sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return found < MOST ? found : MOST;
}

int omp_get_max_threads(void)
{
    if (!threads)
        threads = processors();
    return threads;
}

void omp_set_num_threads(int number) { threads = number < 1 ? 1 : number < MOST ? number : MOST; }

static void run(int number)
{
    part = number;
    count = job.parts;
    job.run(job.data);
    part = 0;
    count = 1;
    atomic_fetch_add(&done, 1);
}

static int first(uint64_t state) { return state & 0xffff; }

static int behind(uint64_t state) { return state >> 16 & 0xffff; }

/* Runs the first part that is left, or the last one; is there one? */
static int take(int is_last)
{
    uint64_t state = open;
    while (first(state) < behind(state))
        if (atomic_compare_exchange_weak(&open, &state, is_last ? state - (1 << 16) : state + 1)) {
            run(is_last ? behind(state) - 1 : first(state));
            return 1;
        }
    return 0;
}

static void pause_once(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

static int has_work(int own) { return first(open) < behind(open) && own < threads; }

static void sleep_until_called(int own)
{
    pthread_mutex_lock(&lock);
    asleep++;
    if (!has_work(own)) /* once: who was called looks out for the next loop, should this one be done already */
        pthread_cond_wait(&woken, &lock);
    asleep--;
    pthread_mutex_unlock(&lock);
}

static void *work(void *number)
{
    const int own = (int)(intptr_t)number;
    for (;;) {
        for (int k = 0; k < SPINS && !has_work(own); k++)
            pause_once();
        if (!has_work(own))
            sleep_until_called(own);
        while (own < threads && take(1))
            continue;
    }
    return NULL;
}

/* After fork there is the caller alone. */
static void forget(void)
{
    started = 0;
    asleep = 0;
    open = 0;
    atomic_flag_clear(&busy);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&woken, NULL);
}

static void start(int wanted)
{
    static int is_told;
    if (started >= wanted - 1)
        return;
    if (!is_told)
        is_told = !pthread_atfork(NULL, NULL, forget);
    sigset_t all, before; /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted - 1) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)(intptr_t)(started + 1)))
            break;
        pthread_detach(thread);
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void alone(body *run_all, void *data)
{
    const int own = part, of = count;
    part = 0;
    count = 1;
    run_all(data);
    part = own;
    count = of;
}

void GOMP_parallel(body *run_part, void *data, unsigned asked, unsigned flags)
{
    (void)flags;
    const int most = omp_get_max_threads();
    if (asked == 1 || most == 1 || atomic_flag_test_and_set(&busy)) {
        alone(run_part, data);
        return;
    }
    start(most);
    job.run = run_part;
    job.data = data;
    job.parts = PARTS * most;
    done = 0;
    open = ((open >> 32) + 1) << 32 | (uint64_t)job.parts << 16;
    if (asleep) {
        pthread_mutex_lock(&lock);
        pthread_cond_broadcast(&woken);
        pthread_mutex_unlock(&lock);
    }
    while (take(0))
        continue;
    for (int k = 0; done < job.parts; k++)
        k < PATIENCE ? pause_once() : (void)sched_yield();
    atomic_flag_clear(&busy);
}
