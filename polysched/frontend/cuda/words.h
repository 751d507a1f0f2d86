/* CUDA's words for clang, which reads from a file what is declared where: attributes, and types that stand in
   declarations. Functions are not here: a body may name what clang does not know. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline
#define __noinline__
#define __inline__ inline
#define __inline_hint__
#define CUDART_CB
#define CUDARTAPI

#define POLYSCHED_VECTORS(type, name, align2, align4) \
    struct name##1 { type x; };                       \
    struct alignas(align2) name##2 { type x, y; };    \
    struct name##3 { type x, y, z; };                 \
    struct alignas(align4) name##4 { type x, y, z, w; };
POLYSCHED_VECTORS(signed char, char, 2, 4)
POLYSCHED_VECTORS(unsigned char, uchar, 2, 4)
POLYSCHED_VECTORS(short, short, 4, 8)
POLYSCHED_VECTORS(unsigned short, ushort, 4, 8)
POLYSCHED_VECTORS(int, int, 8, 16)
POLYSCHED_VECTORS(unsigned, uint, 8, 16)
POLYSCHED_VECTORS(long, long, 16, 16)
POLYSCHED_VECTORS(unsigned long, ulong, 16, 16)
POLYSCHED_VECTORS(long long, longlong, 16, 16)
POLYSCHED_VECTORS(unsigned long long, ulonglong, 16, 16)
POLYSCHED_VECTORS(float, float, 8, 16)
POLYSCHED_VECTORS(double, double, 16, 16)
#undef POLYSCHED_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

struct __half { unsigned short bits; };
struct alignas(4) __half2 { __half x, y; };
struct __nv_bfloat16 { unsigned short bits; };
struct alignas(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

enum cudaError_t : int;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct cudaArray *cudaArray_t;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
struct cudaDeviceProp;
struct cudaChannelFormatDesc;
struct cudaExtent { unsigned long width, height, depth; };
struct cudaPitchedPtr;
enum cudaMemcpyKind : int;
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
template <class T, int kind = 1, cudaTextureReadMode mode = cudaReadModeElementType> struct texture {};
template <class T, int kind = 1> struct surface {};

namespace cooperative_groups {
struct thread_group {};
struct thread_block {};
struct grid_group {};
struct cluster_group {};
struct multi_grid_group {};
struct coalesced_group {};
template <unsigned size, class Parent = void> struct thread_block_tile {};
template <unsigned size = 1024> struct block_tile_memory {};
} // namespace cooperative_groups

namespace nvcuda {
namespace wmma {}
} // namespace nvcuda
namespace cuda {
namespace std {}
} // namespace cuda

/* A launch is a call of this for clang. */
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, unsigned long shared = 0, void *stream = 0);
