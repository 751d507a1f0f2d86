/* Which iterations of a parallel loop touch the same bytes, one of them writing: decided exactly, in one thread.

   The text after this one is compiled with -fopenmp -fsanitize=thread, but linked with neither library. Here a parallel
   region runs as THREADS threads, one after another: more than a loop has iterations, so that schedule(static) gives
   each thread at most one. gcc reports every access to memory that is not a thread's own by a call of __tsan_*; what
   lies on the stack below the region, or was allocated by a thread, is a thread's own.
   GOMP_* and omp_* stand in for libgomp, __tsan_* for libtsan. There are no barriers within a region. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN __attribute__((no_sanitize("thread"), unused))
enum { THREADS = 1024, NOBODY = -1, SEVERAL = -2 };

/* What this region has done to one byte. */
typedef struct {
    int64_t region;
    int32_t writer, reader;
} Byte;

typedef struct {
    uintptr_t word; /* address / 8; 0: free */
    Byte bytes[8];
} Word;

/* The first race, and how much was looked at; read by race.py. */
struct {
    int64_t regions, widest, accesses, too_wide, found;
    uintptr_t address;
    int64_t one, other, wrote; /* the two iterations; whether the first of them wrote (the other has, if not) */
    int64_t where;             /* the region */
} race_report;

static Word *words;
static size_t capacity, used;
static int64_t region;
static int32_t thread;    /* NOBODY outside parallel regions */
static int exclusive;     /* within an atomic or critical section */
static char *stack_start; /* of the region */
static void *freed;       /* by threads: kept until the region ends, so that no two threads get the same memory */

UNSEEN void race_start(void)
{
    free(words);
    capacity = 1 << 16, used = 0, region = 0, thread = NOBODY, exclusive = 0;
    words = calloc(capacity, sizeof(Word));
    memset(&race_report, 0, sizeof race_report);
}

UNSEEN static Word *find(uintptr_t word)
{
    size_t at = word * 0x9E3779B97F4A7C15u >> 20 & (capacity - 1);
    while (words[at].word && words[at].word != word)
        at = (at + 1) & (capacity - 1);
    return &words[at];
}

UNSEEN static void grow(void)
{
    Word *old = words;
    size_t size = capacity;
    capacity *= 4;
    words = calloc(capacity, sizeof(Word));
    for (size_t at = 0; at < size; at++)
        if (old[at].word)
            *find(old[at].word) = old[at];
    free(old);
}

UNSEEN static void report(uintptr_t address, int32_t one, int wrote)
{
    if (race_report.found++)
        return;
    race_report.address = address, race_report.one = one, race_report.wrote = wrote;
    race_report.other = thread, race_report.where = region;
}

UNSEEN static void touch_byte(uintptr_t address, int write)
{
    Word *word = find(address / 8);
    if (!word->word) {
        if (++used * 2 > capacity) {
            grow();
            word = find(address / 8);
        }
        word->word = address / 8;
    }
    Byte *byte = &word->bytes[address % 8];
    if (byte->region != region)
        *byte = (Byte){region, NOBODY, NOBODY};
    if (byte->writer != NOBODY && byte->writer != thread)
        report(address, byte->writer, 1);
    if (write && byte->reader != NOBODY && byte->reader != thread)
        report(address, byte->reader, 0);
    if (write)
        byte->writer = thread;
    else
        byte->reader = byte->reader == NOBODY || byte->reader == thread ? thread : SEVERAL;
}

UNSEEN static void touch(void *pointer, size_t size, int write)
{
    char here, *place = pointer;
    if (thread == NOBODY || exclusive || (place < stack_start && place > &here))
        return;
    race_report.accesses++;
    if (write && thread + 1 > race_report.widest) /* a thread without an iteration still reads what the loop is over */
        race_report.widest = thread + 1;
    for (size_t byte = 0; byte < size; byte++)
        touch_byte((uintptr_t)place + byte, write);
}

#define ACCESS(size)                                                                                                   \
    UNSEEN void __tsan_read##size(void *at) { touch(at, size, 0); }                                                    \
    UNSEEN void __tsan_write##size(void *at) { touch(at, size, 1); }                                                   \
    UNSEEN void __tsan_unaligned_read##size(void *at) { touch(at, size, 0); }                                          \
    UNSEEN void __tsan_unaligned_write##size(void *at) { touch(at, size, 1); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
UNSEEN void __tsan_read_range(void *at, size_t size) { touch(at, size, 0); }
UNSEEN void __tsan_write_range(void *at, size_t size) { touch(at, size, 1); }
UNSEEN void __tsan_init(void) {}
UNSEEN void __tsan_func_entry(void *caller) { (void)caller; }
UNSEEN void __tsan_func_exit(void) {}

/* Atomic accesses do not race with each other; reductions end in one. */
#define ATOMIC(bits, type)                                                                                             \
    UNSEEN type __tsan_atomic##bits##_load(const volatile type *at, int order) { return (void)order, *at; }            \
    UNSEEN void __tsan_atomic##bits##_store(volatile type *at, type value, int order) { (void)order, *at = value; }    \
    UNSEEN type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int order)                              \
    {                                                                                                                  \
        type before = *at;                                                                                             \
        (void)order, *at = (type)(before + value);                                                                     \
        return before;                                                                                                 \
    }                                                                                                                  \
    UNSEEN int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected, type value, int order, \
                                                             int otherwise)                                            \
    {                                                                                                                  \
        (void)order, (void)otherwise;                                                                                  \
        if (*at == *expected)                                                                                          \
            return *at = value, 1;                                                                                     \
        return *expected = *at, 0;                                                                                     \
    }                                                                                                                  \
    UNSEEN type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type expected, type value, int order,    \
                                                           int otherwise)                                              \
    {                                                                                                                  \
        type before = *at;                                                                                             \
        (void)order, (void)otherwise;                                                                                  \
        if (before == expected)                                                                                        \
            *at = value;                                                                                               \
        return before;                                                                                                 \
    }
ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)
UNSEEN void GOMP_atomic_start(void) { exclusive++; }
UNSEEN void GOMP_atomic_end(void) { exclusive--; }
UNSEEN void GOMP_critical_start(void) { exclusive++; }
UNSEEN void GOMP_critical_end(void) { exclusive--; }

UNSEEN int omp_get_thread_num(void) { return thread == NOBODY ? 0 : thread; }
UNSEEN int omp_get_num_threads(void) { return thread == NOBODY ? 1 : THREADS; }
UNSEEN int omp_get_max_threads(void) { return THREADS; }
UNSEEN int omp_in_parallel(void) { return thread != NOBODY; }

/* A parallel region; one within a region runs serially, as by default. An if clause comes as num_threads = 1: the
   region is to be free of races all the same. */
UNSEEN void GOMP_parallel(void (*body)(void *), void *data, unsigned num_threads, unsigned flags)
{
    char here;
    (void)num_threads, (void)flags;
    if (thread != NOBODY) {
        body(data);
        return;
    }
    stack_start = &here;
    region++;
    race_report.regions++;
    for (thread = 0; thread < THREADS; thread++)
        body(data);
    thread = NOBODY;
    race_report.too_wide |= race_report.widest >= THREADS;
    while (freed) {
        void *next = *(void **)freed;
        free(freed);
        freed = next;
    }
}

/* A loop whose iterations are handed out as it runs, one in a region: again each thread gets at most one. */
static struct {
    long next, end, step;
} queue;

#define HANDED_OUT(schedule)                                                                                           \
    UNSEEN _Bool GOMP_loop_##schedule##_start(long start, long end, long step, long chunk, long *from, long *to)       \
    {                                                                                                                  \
        (void)chunk;                                                                                                   \
        if (thread == 0)                                                                                               \
            queue.next = start, queue.end = end, queue.step = step;                                                    \
        if (queue.step > 0 ? queue.next >= queue.end : queue.next <= queue.end)                                        \
            return 0;                                                                                                  \
        *from = queue.next, *to = queue.next += queue.step;                                                            \
        return 1;                                                                                                      \
    }                                                                                                                  \
    UNSEEN _Bool GOMP_loop_##schedule##_next(long *from, long *to) { return (void)from, (void)to, 0; }
HANDED_OUT(dynamic) HANDED_OUT(nonmonotonic_dynamic) HANDED_OUT(guided) HANDED_OUT(nonmonotonic_guided)
UNSEEN void GOMP_loop_end_nowait(void) {}

UNSEEN void *race_malloc(size_t size) { return malloc(size < sizeof(void *) ? sizeof(void *) : size); }

UNSEEN void *race_aligned_alloc(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }

UNSEEN void race_free(void *memory)
{
    if (!memory || thread == NOBODY) {
        free(memory);
        return;
    }
    *(void **)memory = freed;
    freed = memory;
}
#define malloc race_malloc
#define aligned_alloc race_aligned_alloc
#define free race_free
