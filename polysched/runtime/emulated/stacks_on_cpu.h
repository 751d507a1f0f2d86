/* Stacks that one thread of the CPU changes between.

       context = new_context(stack, run);          polysched_switch(&own, context);          runs `run` on the stack
       polysched_switch(&context, own);            there: goes on after the first switch */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "checker_on_cpu.h"

namespace polysched {

enum : size_t { stack_size = 256 * 1024, stack_stride = stack_size + 4160 }; /* no power of two: it thrashes caches */

#if defined(__x86_64__) && !defined(POLYSCHED_UCONTEXT)
extern "C" void polysched_switch(void **save, void *to);
__asm__(R"(
    .pushsection .text
    .hidden polysched_switch
    .globl polysched_switch
    .type polysched_switch, @function
polysched_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size polysched_switch, .-polysched_switch
    .popsection
)");

/* A stack that will call `run` when it is switched to. */
POLYSCHED_OWN static void *new_context(char *stack, void (*run)())
{
    void **top = (void **)(((uintptr_t)stack + stack_size - 64) & ~(uintptr_t)63);
    *--top = nullptr; /* nobody to return to */
    *--top = (void *)run;
    for (int saved = 0; saved < 6; saved++)
        *--top = nullptr;
    return top;
}
#else
} // namespace polysched
#include <ucontext.h>
namespace polysched {
static ucontext_t first_context;

POLYSCHED_OWN static void polysched_switch(void **save, void *to)
{
    ucontext_t *from = *save ? (ucontext_t *)*save : &first_context;
    *save = from;
    swapcontext(from, (ucontext_t *)to);
}

POLYSCHED_OWN static void *new_context(char *stack, void (*run)())
{
    ucontext_t *context = (ucontext_t *)(stack + 64); /* at the end that is used last */
    getcontext(context);
    context->uc_stack.ss_sp = stack + 64 + sizeof *context;
    context->uc_stack.ss_size = stack_size - 64 - sizeof *context;
    context->uc_link = nullptr;
    makecontext(context, run, 0);
    return context;
}
#endif

} // namespace polysched
