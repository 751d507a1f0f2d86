/* Launches other than the host asks for, to try what few sizes reach: a small grid, over which loops must stride, and the
   kernels that count in 64 bits; and launches that only note the kernel's name, at sizes too large to run. */
#pragma once
#include <setjmp.h>

extern "C" {
unsigned polysched_most_blocks = 0; /* along each side of a grid; 0: any number */
int polysched_wide = 0;             /* 1: kernels that count in 64 bits, where there are two */
int polysched_notes = 0;            /* 1: launches are noted, nothing runs, and there is no memory */
char polysched_noted[4096];         /* names of kernels, a line each */
}

namespace polysched {

enum { most_noted = 16 };
static jmp_buf after_notes;
static unsigned noted;

/* The grid; along sides on which a kernel needs a block for each iteration, as it is. */
POLYSCHED_OWN static dim3 clamped(const char *kernel, dim3 grid)
{
    if (!polysched_most_blocks)
        return grid;
    bool keeps[3] = {false, false, false};
#ifdef POLYSCHED_ALONE
    static const struct {
        const char *kernel, *axes;
    } alone[] = {POLYSCHED_ALONE};
    for (const auto &each : alone)
        if (strcmp(each.kernel, kernel) == 0)
            for (const char *axis = each.axes; *axis; axis++)
                keeps[*axis - 'x'] = true;
#endif
    const unsigned most = polysched_most_blocks;
    return dim3(grid.x > most && !keeps[0] ? most : grid.x, grid.y > most && !keeps[1] ? most : grid.y,
                grid.z > most && !keeps[2] ? most : grid.z);
}

/* Notes the kernel, if that is all that launches are for; after some, the host's function ends. */
POLYSCHED_OWN static bool is_only_noted(const char *kernel)
{
    if (!polysched_notes)
        return false;
    const size_t length = strlen(polysched_noted);
    snprintf(polysched_noted + length, sizeof polysched_noted - length, "%s\n", kernel);
    if (++noted == most_noted)
        longjmp(after_notes, 1);
    return true;
}

} // namespace polysched

/* Calls a function that launches kernels, to note which. */
#define POLYSCHED_NOTE_LAUNCHES(call)                                  \
    extern "C" void polysched_note_launches(const int64_t *polysched_sizes) \
    {                                                                  \
        polysched_notes = 1;                                           \
        polysched_noted[0] = 0;                                        \
        polysched::noted = 0;                                          \
        if (!setjmp(polysched::after_notes))                           \
            call;                                                      \
        polysched_notes = 0;                                           \
    }
