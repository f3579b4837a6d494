/*
 * Legal topic names.
 */
#include "controller/state.h"

static int name_byte_legal(unsigned char b)
{
    return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') ||
           (b >= '0' && b <= '9') || b == '.' || b == '_' || b == '-';
}

/* Kafka's rule (Topic.validate). The text never repeats an illegal byte. */
int kl_controller_topic_name_check(const char *name, size_t size,
                                   struct kl_base_error *e)
{
    if (size == 0)
        return kl_base_error_set(e, KL_ETOPICNAME, "topic name is empty");
    if (size > KL_WIRE_TOPIC_NAME_MAX)
        return kl_base_error_set(e, KL_ETOPICNAME,
                                 "topic name has %zu bytes, at most %d", size,
                                 (int)KL_WIRE_TOPIC_NAME_MAX);
    for (size_t i = 0; i < size; i++)
        if (!name_byte_legal((unsigned char)name[i]))
            return kl_base_error_set(
                e, KL_ETOPICNAME,
                "topic name: byte 0x%02x at %zu, allowed are a-z A-Z 0-9 . _ -",
                (unsigned)(unsigned char)name[i], i);
    if (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.')))
        return kl_base_error_set(e, KL_ETOPICNAME,
                                 "topic name is \".\" or \"..\"");
    return 0;
}
