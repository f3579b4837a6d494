/*
 * The system's error numbers as KL_E codes. They are translated here, at the
 * door to the system, and nowhere above.
 */
#ifndef KL_OS_SYSERROR_H
#define KL_OS_SYSERROR_H

/* Never 0. A number that nobody branches on is KL_EIO. */
int kl_os_syserror_code(int number);

#endif
