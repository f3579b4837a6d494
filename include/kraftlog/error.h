/*
 * Error codes. Every function that can fail returns 0 or one of these; counts
 * go through out pointers. Codes are disjoint from -errno and never change.
 */
#ifndef KRAFTLOG_ERROR_H
#define KRAFTLOG_ERROR_H

#include <kraftlog/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    KL_OK = 0,

    /* General. */
    KL_ENOMEM = -1000,       /* the allocator refused */
    KL_EINVAL = -1001,       /* an argument is not allowed */
    KL_EAGAIN = -1002,       /* a bounded queue is full; poll or wait, retry */
    KL_ETIMEDOUT = -1003,    /* not finished within the given time */
    KL_ECLOSED = -1004,      /* the object behind the handle is gone */
    KL_EREENTRY = -1005,     /* called from a callback that may not */
    KL_ECONFIG = -1006,      /* unknown key or value out of range */
    KL_ESTATE = -1007,       /* not allowed in this state of the handle */
    KL_EUNSUPPORTED = -1008, /* left out of this build or version */
    KL_EFORK = -1009,        /* the handle was made before a fork */
    KL_EUNKNOWN = -1010,     /* may or may not have happened */
    KL_ECANCELED = -1011,    /* given up before it was begun */
    KL_EEND = -1012,         /* nothing more to iterate over */
    KL_EOWNER = -1013,       /* another thread owns the node */

    /* Storage. */
    KL_EIO = -1100,       /* the operating system reports an I/O error */
    KL_ECORRUPT = -1101,  /* bytes on disk are not what was written */
    KL_EDISKFULL = -1102, /* no space left, or the set budget is used up */
    KL_EBUSY = -1103,     /* another handle holds it */
    KL_ENOSTORE = -1104,  /* the folder holds no store */
    KL_EFORMAT = -1105,   /* written by an unknown format version */
    KL_EFOREIGN = -1106,  /* the folder belongs to another cluster or node */
    KL_ENOFILES = -1107,  /* out of file descriptors */
    KL_EACCESS = -1108,   /* permission denied or read-only file system */
    KL_EFAILED = -1109,   /* the store failed earlier and takes no more */
    KL_ENOENT = -1110,    /* a file or folder does not exist */
    KL_EEXIST = -1111,    /* a file or folder exists already */

    /* Cluster. */
    KL_ENOTOPIC = -1300,        /* unknown topic or partition */
    KL_ETOPICEXISTS = -1301,    /* a topic of this name exists */
    KL_ETOPICNAME = -1302,      /* the name is not a legal topic name */
    KL_EPARTITIONS = -1303,     /* partition count not allowed */
    KL_EREPLICATION = -1304,    /* not that many brokers */
    KL_ENOTLEADER = -1305,      /* this node does not lead the partition */
    KL_ENOTCONTROLLER = -1306,  /* this node is not the active controller */
    KL_EFENCED = -1307,         /* sent in an epoch that is over */
    KL_EPARTITIONEPOCH = -1308, /* the partition has changed meanwhile */
    KL_EINELIGIBLE = -1309,     /* a replica may not join the in-sync ones */
    KL_ENEWLEADER = -1310,      /* done, and another node leads now */
    KL_EDUPLICATENODE = -1311,  /* another node of this id is alive */
    KL_ENOBROKER = -1312,       /* no broker of this id is registered */
    KL_ENOREASSIGNMENT = -1313, /* the partition is not being reassigned */
    KL_ENOCANDIDATE = -1314,    /* no replica may become the leader */
    KL_EREGRESSED = -1315,      /* the folder is older than others know it */
    KL_EQUORUMSTATE = -1316,    /* what it promised is lost: no vote */
    KL_EVOTEREXISTS = -1317,    /* a voter of this node id exists */
    KL_ENOVOTER = -1318,        /* no such voter */
    KL_ELAGGING = -1319,        /* the replica has not caught up */
    KL_EREDUNDANCY = -1320,     /* the voters would tolerate too little */

    /* Producer and consumer. */
    KL_ERECORDSIZE = -1400,  /* larger than a batch may be */
    KL_EOFFSETRANGE = -1401, /* no record at this offset, or none left */
    KL_EBATCH = -1402        /* a batch is malformed */
};

/* One line of English for a code, static. Unknown codes have a text too. */
KL_API const char *kl_strerror(int code);

/* The name of a code, "KL_EAGAIN"; "KL_E?" for an unknown one. */
KL_API const char *kl_error_name(int code);

/* 1 where the same call may succeed later without anything being repaired. */
KL_API int kl_error_is_retriable(int code);

/* 1 where the object will not work again. */
KL_API int kl_error_is_fatal(int code);

#ifdef __cplusplus
}
#endif

#endif
