/*
 * The table of translations.
 */
#include "os/syserror.h"

#include <errno.h>
#include <kraftlog/error.h>

int kl_os_syserror_code(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return KL_EDISKFULL;
    case EMFILE:
    case ENFILE:
        return KL_ENOFILES;
    case EACCES:
    case EPERM:
    case EROFS:
        return KL_EACCESS;
    case ENOENT:
        return KL_ENOENT;
    case EEXIST:
    case ENOTEMPTY: /* rmdir may say either for a folder in use */
        return KL_EEXIST;
    case ENOMEM:
        return KL_ENOMEM;
    default:
        return KL_EIO;
    }
}
