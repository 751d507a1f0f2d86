/* CUDA's vectors: float4 and its like, each loaded and stored at once. */
#pragma once
#include "block_on_cpu.h"

/* Two and four elements are aligned as a whole, up to 16 bytes; they are copied through a vector of the compiler's, so
   that the checker sees one access. Three elements are a plain struct. */
#define POLYSCHED_VECTORS(type, name)                                                                               \
    struct alignas(2 * sizeof(type)) name##2 {                                                                      \
        typedef type All __attribute__((vector_size(2 * sizeof(type)), may_alias));                                 \
        union {                                                                                                     \
            struct {                                                                                                \
                type x, y;                                                                                          \
            };                                                                                                      \
            All all;                                                                                                \
        };                                                                                                          \
        name##2() = default;                                                                                        \
        POLYSCHED_METHOD name##2(type x, type y) : x(x), y(y) {}                                                    \
        POLYSCHED_METHOD name##2(const name##2 &from) { all = from.all; }                                           \
        POLYSCHED_METHOD name##2 &operator=(const name##2 &from) { all = from.all; return *this; }                  \
    };                                                                                                              \
    struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) name##4 {                                         \
        typedef type All __attribute__((vector_size(4 * sizeof(type)), may_alias,                                   \
                                        aligned(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16)));                   \
        union {                                                                                                     \
            struct {                                                                                                \
                type x, y, z, w;                                                                                    \
            };                                                                                                      \
            All all;                                                                                                \
        };                                                                                                          \
        name##4() = default;                                                                                        \
        POLYSCHED_METHOD name##4(type x, type y, type z, type w) : x(x), y(y), z(z), w(w) {}                        \
        POLYSCHED_METHOD name##4(const name##4 &from) { all = from.all; }                                           \
        POLYSCHED_METHOD name##4 &operator=(const name##4 &from) { all = from.all; return *this; }                  \
    };                                                                                                              \
    POLYSCHED_INLINE name##2 make_##name##2(type x, type y) { return name##2(x, y); }                               \
    POLYSCHED_INLINE name##4 make_##name##4(type x, type y, type z, type w) { return name##4(x, y, z, w); }
#define POLYSCHED_VECTOR_3(type, name)                                                                              \
    struct name##3 {                                                                                                \
        type x, y, z;                                                                                               \
    };                                                                                                              \
    POLYSCHED_INLINE name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }
#define POLYSCHED_VECTOR_1(type, name)                                                                              \
    struct name##1 {                                                                                                \
        type x;                                                                                                     \
    };                                                                                                              \
    POLYSCHED_INLINE name##1 make_##name##1(type x) { return {x}; }
#define POLYSCHED_METHOD inline __attribute__((always_inline))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long long longlong;
typedef unsigned long long ulonglong;
typedef signed char schar;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t; /* what reads them is not known */
struct cudaExtent {
    size_t width, height, depth;
};
typedef _Float16 __half;
typedef __half half;
#define POLYSCHED_ALL_VECTORS(type, name) POLYSCHED_VECTORS(type, name) POLYSCHED_VECTOR_3(type, name)
POLYSCHED_ALL_VECTORS(float, float)
POLYSCHED_ALL_VECTORS(double, double)
POLYSCHED_ALL_VECTORS(int, int)
POLYSCHED_ALL_VECTORS(short, short)
POLYSCHED_ALL_VECTORS(schar, char)
POLYSCHED_ALL_VECTORS(uchar, uchar)
POLYSCHED_ALL_VECTORS(ushort, ushort)
POLYSCHED_ALL_VECTORS(longlong, longlong)
POLYSCHED_ALL_VECTORS(ulonglong, ulonglong)
POLYSCHED_ALL_VECTORS(long, long)
POLYSCHED_ALL_VECTORS(ulong, ulong)
POLYSCHED_VECTORS(uint, uint)
POLYSCHED_VECTOR_1(float, float)
POLYSCHED_VECTOR_1(double, double)
POLYSCHED_VECTOR_1(int, int)
POLYSCHED_VECTOR_1(uint, uint)
POLYSCHED_VECTOR_1(uchar, uchar)
POLYSCHED_INLINE uint3 make_uint3(uint x, uint y, uint z) { return {x, y, z}; }
#undef POLYSCHED_ALL_VECTORS
#undef POLYSCHED_VECTORS
#undef POLYSCHED_VECTOR_3
#undef POLYSCHED_VECTOR_1
