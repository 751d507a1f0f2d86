/* How Python launches a kernel of any parameters: after cuda_on_cpu.h and the text of the kernel. */
#pragma once

namespace polysched {

struct Argument { /* as runtime/emulated/hand_written.py fills it */
    double real;
    int64_t integer;
    void *pointer;
};

struct Parameter { /* as it reads it: of what is passed, or pointed to */
    char kind; /* f: float, i: integer, u: unsigned, b: bool, o: other */
    char is_pointer, is_const;
    int32_t size;
};

template <class T> struct Kind {
    enum { kind = 'o' };
};
#define POLYSCHED_KIND(letter, ...)     \
    template <> struct Kind<__VA_ARGS__> { \
        enum { kind = letter };         \
    };
POLYSCHED_KIND('f', double)
POLYSCHED_KIND('f', float)
POLYSCHED_KIND('f', __half)
POLYSCHED_KIND('b', bool)
POLYSCHED_KIND((char)-1 < 0 ? 'i' : 'u', char)
POLYSCHED_KIND('i', signed char)
POLYSCHED_KIND('i', short)
POLYSCHED_KIND('i', int)
POLYSCHED_KIND('i', long)
POLYSCHED_KIND('i', long long)
POLYSCHED_KIND('u', unsigned char)
POLYSCHED_KIND('u', unsigned short)
POLYSCHED_KIND('u', unsigned)
POLYSCHED_KIND('u', unsigned long)
POLYSCHED_KIND('u', unsigned long long)
#undef POLYSCHED_KIND

template <class T> struct Passed {
    static Parameter describe() { return {Kind<T>::kind, 0, 0, sizeof(T)}; }
    POLYSCHED_OWN static T value(const Argument &argument)
    {
        if constexpr (Kind<T>::kind == 'o')
            return *(const T *)argument.pointer;
        else
            return Kind<T>::kind == 'f' ? (T)argument.real : (T)argument.integer;
    }
};
template <class T> struct Passed<const T> : Passed<T> {};
template <class T> struct Passed<T *> {
    static Parameter describe()
    {
        Parameter it = Passed<T>::describe();
        it.kind = it.is_pointer ? 'p' : it.kind;
        it.is_pointer = 1;
        return it;
    }
    POLYSCHED_OWN static T *value(const Argument &argument) { return (T *)argument.pointer; }
};
template <class T> struct Passed<const T *> : Passed<T *> {
    static Parameter describe()
    {
        Parameter it = Passed<T *>::describe();
        it.is_const = 1;
        return it;
    }
};
template <> struct Passed<void> {
    static Parameter describe() { return {'o', 0, 0, 0}; }
};

template <int n, int... k> struct Indices : Indices<n - 1, n - 1, k...> {};
template <int... k> struct Indices<0, k...> {};

template <class... P, int... k>
POLYSCHED_OWN static void enter(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, const Argument *arguments,
                                Indices<0, k...>)
{
    launch(name, grid, block, kernel, Passed<P>::value(arguments[k])...);
}

template <class... P>
POLYSCHED_OWN static void enter(const char *name, void (*kernel)(P...), const uint32_t *sizes, const Argument *arguments)
{
    const dim3 grid(sizes[0], sizes[1], sizes[2]), block(sizes[3], sizes[4], sizes[5]);
    enter(name, kernel, grid, block, arguments, Indices<sizeof...(P)>());
}

template <class... P> POLYSCHED_OWN static int describe_all(void (*)(P...), Parameter *parameters)
{
    const Parameter all[] = {Passed<P>::describe()..., Parameter()};
    if (parameters)
        memcpy(parameters, all, sizeof...(P) * sizeof(Parameter));
    return sizeof...(P);
}

} // namespace polysched

#define POLYSCHED_ENTRY(name, kernel)                                                            \
    extern "C" void polysched_enter(const uint32_t *sizes, const polysched::Argument *arguments) \
    {                                                                                            \
        polysched::enter(name, kernel, sizes, arguments);                                        \
    }                                                                                            \
    extern "C" int polysched_describe(polysched::Parameter *parameters)                          \
    {                                                                                            \
        return polysched::describe_all(kernel, parameters);                                      \
    }
