/* An allocator that fails once when it is told to: for LD_PRELOAD. It counts what the thread that told it asks for. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static __thread long left;
static __thread int has_failed;

/* Have the n-th allocation from here on fail, none for 0; returns whether the one before did. */
int fail_allocation(long n)
{
    int before = has_failed;
    left = n;
    has_failed = 0;
    return before;
}

/* Whether one has failed since. */
int has_allocation_failed(void)
{
    return has_failed;
}

static int fails(void)
{
    if (!left || --left)
        return 0;
    has_failed = 1;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
