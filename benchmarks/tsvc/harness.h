/* What tsvc.c becomes a program of, in place of `#define iterations`. */
#include <sys/time.h>

extern int tsvc_runs;
struct args_t;
void tsvc_loop(const char *name, float (*loop)(struct args_t *), void *argument);
void tsvc_clock(void);
#define gettimeofday(at, zone) tsvc_clock()
#define main(...) tsvc_main(void)
