/* malloc and free for a kernel, which keep large blocks from call to call: a fresh page costs the system more than a
   stencil takes to fill it.

   A block in use is nobody else's, so a kernel may run on several threads at once, and call itself. Blocks, kept and in
   use, never hold more than twice what the kernel has needed at one time. Headers that the kernel does not include would
   take names from it. */
#include <stdlib.h>

enum {
    POLYSCHED_LEAST = 1 << 17, /* bytes: smaller blocks the C library keeps by itself */
    POLYSCHED_MOST = 1 << 30,  /* bytes that are kept */
    POLYSCHED_LINE = 64,       /* bytes of a line of a cache, where a large block begins */
    POLYSCHED_TRIES = 1000,    /* to get the lock: in a child of fork, its holder may not exist */
};

struct polysched_block {
    struct polysched_block *next; /* kept before it */
    size_t size, asked;           /* bytes behind it, and as many as were asked for; 0: it is not kept */
    char fill[POLYSCHED_LINE - sizeof(void *) - 2 * sizeof(size_t)];
};

static char polysched_lock;
static struct polysched_block *polysched_kept; /* the latest first */
static size_t polysched_most_asked;            /* bytes, at one time */
static size_t polysched_used, polysched_asked; /* bytes of blocks in use, and asked for; without the lock */
size_t polysched_kept_bytes;

static int polysched_enter(void)
{
    for (int k = 0; k < POLYSCHED_TRIES; k++)
        if (!__atomic_test_and_set(&polysched_lock, __ATOMIC_ACQUIRE))
            return 1;
    return 0;
}

static void polysched_leave(void) { __atomic_clear(&polysched_lock, __ATOMIC_RELEASE); }

/* The new sum, by an addition that needs no lock; `more` may be negative in its wrapping type. */
static size_t polysched_count(size_t *sum, size_t more) { return __atomic_add_fetch(sum, more, __ATOMIC_RELAXED); }

static void polysched_drop(struct polysched_block *block)
{
    while (block) {
        struct polysched_block *const next = block->next;
        free(block);
        block = next;
    }
}

static struct polysched_block *polysched_cut(struct polysched_block **at)
{
    struct polysched_block *const block = *at;
    *at = block->next;
    block->next = NULL;
    polysched_kept_bytes -= block->size;
    return block;
}

/* Takes out the smallest kept block that is large enough, and not too large; NULL if there is none. */
static struct polysched_block *polysched_fitting(size_t size)
{
    struct polysched_block **best = NULL;
    for (struct polysched_block **at = &polysched_kept; *at; at = &(*at)->next)
        if (size <= (*at)->size && (*at)->size / 2 <= size && (!best || (*at)->size < (*best)->size))
            best = at;
    return best ? polysched_cut(best) : NULL;
}

/* Takes out the oldest blocks, as long as there is too much. */
static struct polysched_block *polysched_surplus(void)
{
    struct polysched_block *surplus = NULL;
    while (polysched_kept && (polysched_kept_bytes > POLYSCHED_MOST ||
                              polysched_kept_bytes + polysched_count(&polysched_used, 0) > 2 * polysched_most_asked)) {
        struct polysched_block **oldest = &polysched_kept;
        while ((*oldest)->next)
            oldest = &(*oldest)->next;
        struct polysched_block *const block = polysched_cut(oldest);
        block->next = surplus;
        surplus = block;
    }
    return surplus;
}

/* Gives back what is kept; blocks in use stay, and what it has needed before counts no more. */
void polysched_release(void)
{
    if (!polysched_enter())
        return;
    struct polysched_block *const all = polysched_kept;
    polysched_kept = NULL;
    polysched_kept_bytes = 0;
    polysched_most_asked = polysched_count(&polysched_asked, 0);
    polysched_leave();
    polysched_drop(all);
}

static void *polysched_malloc(size_t asked)
{
    if (asked > __PTRDIFF_MAX__ - 2 * POLYSCHED_LINE)
        return NULL;
    struct polysched_block *block = NULL;
    const size_t size = (asked + POLYSCHED_LINE - 1) / POLYSCHED_LINE * POLYSCHED_LINE;
    const int is_kept = asked >= POLYSCHED_LEAST && polysched_enter();
    if (is_kept) {
        block = polysched_fitting(size);
        polysched_count(&polysched_used, block ? block->size : size);
        const size_t now = polysched_count(&polysched_asked, size);
        if (polysched_most_asked < now)
            polysched_most_asked = now;
        struct polysched_block *const surplus = polysched_surplus();
        polysched_leave();
        polysched_drop(surplus);
    }
    if (!block) {
        const size_t all = POLYSCHED_LINE + size;
        block = is_kept ? aligned_alloc(POLYSCHED_LINE, all) : malloc(all);
        if (!block) {
            polysched_release();
            block = malloc(all);
        }
        if (!block) {
            polysched_count(&polysched_used, is_kept ? -size : 0);
            polysched_count(&polysched_asked, is_kept ? -size : 0);
            return NULL;
        }
        block->next = NULL;
        block->size = size;
    }
    block->asked = is_kept ? size : 0;
    return block + 1;
}

static void polysched_free(void *memory)
{
    if (!memory)
        return;
    struct polysched_block *block = (struct polysched_block *)memory - 1;
    if (block->asked) {
        polysched_count(&polysched_used, -block->size);
        polysched_count(&polysched_asked, -block->asked);
        if (polysched_enter()) {
            block->next = polysched_kept;
            polysched_kept = block;
            polysched_kept_bytes += block->size;
            block = polysched_surplus();
            polysched_leave();
        }
    }
    polysched_drop(block);
}

#define malloc(size) polysched_malloc(size)
#define free(memory) polysched_free(memory)
