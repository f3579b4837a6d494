/*
 * Random bytes from the system's call, or from its device.
 */
#include "os/entropy.h"

#include <errno.h>
#include <fcntl.h>
#include <kraftlog/error.h>
#include <stdint.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/random.h>
#endif

/* The device of every POSIX system, where the call is missing. */
static int entropy_from_device(uint8_t *to, size_t size)
{
    size_t done = 0;
    int fd;

    do
        fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return KL_EIO;
    while (done < size) {
        ssize_t n = read(fd, to + done, size - done);

        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    close(fd);
    return done == size ? 0 : KL_EIO;
}

int kl_os_entropy(void *buf, size_t size)
{
    uint8_t *to = buf;
    size_t done = 0;

#ifdef __linux__
    while (done < size) {
        ssize_t n = getrandom(to + done, size - done, 0);

        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            break;
    }
#endif
    return done == size ? 0 : entropy_from_device(to + done, size - done);
}
