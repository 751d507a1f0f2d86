/* What the compiler has a kernel call, by -fsanitize: for each access, and where an index or a number is out of range. */
#pragma once
#include "race_guesses.h"
#include "race_rules.h"

#define PC ((uintptr_t)__builtin_return_address(0))

extern "C" {

#define POLYSCHED_SIZE(n)                                                                               \
    void __tsan_read##n(void *at) { access((uintptr_t)at, n, read_it, PC, n); }                         \
    void __tsan_write##n(void *at) { access((uintptr_t)at, n, write_it, PC, n); }                       \
    void __tsan_unaligned_read##n(void *at) { access((uintptr_t)at, n, read_it, PC); }                  \
    void __tsan_unaligned_write##n(void *at) { access((uintptr_t)at, n, write_it, PC); }                \
    void __tsan_volatile_read##n(void *at) { access((uintptr_t)at, n, read_it, PC, n); }                \
    void __tsan_volatile_write##n(void *at) { access((uintptr_t)at, n, write_it, PC, n); }              \
    void __tsan_unaligned_volatile_read##n(void *at) { access((uintptr_t)at, n, read_it, PC); }         \
    void __tsan_unaligned_volatile_write##n(void *at) { access((uintptr_t)at, n, write_it, PC); }
POLYSCHED_SIZE(1) POLYSCHED_SIZE(2) POLYSCHED_SIZE(4) POLYSCHED_SIZE(8) POLYSCHED_SIZE(16)
void __tsan_read_range(void *at, size_t size) { access((uintptr_t)at, size, read_it, PC); }
void __tsan_write_range(void *at, size_t size) { access((uintptr_t)at, size, write_it, PC); }
void *__tsan_memcpy(void *to, const void *from, size_t size)
{
    access((uintptr_t)from, size, read_it, PC);
    access((uintptr_t)to, size, write_it, PC);
    return memcpy(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size)
{
    access((uintptr_t)to, size, write_it, PC);
    return memset(to, value, size);
}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_init(void) {}

struct TypeDescriptor {
    uint16_t kind, info;
    char name[1];
};
struct OutOfBounds {
    const char *file;
    uint32_t line, column;
    const TypeDescriptor *array, *index;
};
void __ubsan_handle_out_of_bounds(OutOfBounds *data, uintptr_t value)
{
    if (!checker->runs)
        return;
    const unsigned bits = 1u << (data->index->info >> 1);
    const bool is_signed = data->index->info & 1;
    const long long index = is_signed && bits < 64 ? (long long)(value << (64 - bits)) >> (64 - bits) : (long long)value;
    const Access own = {checker->epoch, site_of(PC, compute_it, 0), checker->thread, 0};
    if (Finding *finding = report(index_out_of_bounds, -1, index, 0, own)) {
        finding->line = data->line;
        snprintf(finding->text, sizeof finding->text, "index %lld of %s", index, data->array->name);
    }
    checker->stop("an index out of bounds");
}
struct Overflow {
    const char *file;
    uint32_t line, column;
    const TypeDescriptor *type;
};
static long long operand(const Overflow *data, uintptr_t value)
{
    const unsigned bits = 1u << (data->type->info >> 1);
    return bits < 64 ? (long long)(value << (64 - bits)) >> (64 - bits) : (long long)value;
}
static void overflow(const Overflow *data, uintptr_t pc, uintptr_t a, const char *operation, uintptr_t b)
{
    if (!checker->runs)
        return;
    const Access own = {checker->epoch, site_of(pc, compute_it, 0), checker->thread, 0};
    if (Finding *finding = report(other, -1, 0, 0, own)) {
        const unsigned bits = 1u << (data->type->info >> 1);
        snprintf(finding->text, sizeof finding->text, "%lld %s %lld does not fit into %u bits", operand(data, a), operation,
                 operand(data, b), bits);
    }
}
void __ubsan_handle_add_overflow(Overflow *data, uintptr_t a, uintptr_t b) { overflow(data, PC, a, "+", b); }
void __ubsan_handle_sub_overflow(Overflow *data, uintptr_t a, uintptr_t b) { overflow(data, PC, a, "-", b); }
void __ubsan_handle_mul_overflow(Overflow *data, uintptr_t a, uintptr_t b) { overflow(data, PC, a, "*", b); }
void __ubsan_handle_negate_overflow(Overflow *data, uintptr_t a) { overflow(data, PC, 0, "-", a); }
void __ubsan_handle_divrem_overflow(Overflow *data, uintptr_t a, uintptr_t b)
{
    if (!checker->runs)
        return;
    if (b)
        return overflow(data, PC, a, "/", b);
    const Access own = {checker->epoch, site_of(PC, compute_it, 0), checker->thread, 0};
    if (Finding *finding = report(other, -1, 0, 0, own))
        snprintf(finding->text, sizeof finding->text, "division by zero");
    checker->stop("a division by zero");
}

} // extern "C"
