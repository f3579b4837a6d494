#include "net_edit.h"

#include "base/endian.h"
#include "base/hash.h"
#include "wire/wire.h"

/* Where things are in a message: wire/messages.h. */
enum {
    AT_CHECKSUM = 8,
    AT_API_KEY = 16,
    AT_VERSION = 18,
    AT_IS_RESPONSE = 20,
    AT_CLUSTER = 32,
    AT_DESTINATION = 52,
    AT_DIRECTORY = 88
};

#define EDIT_EPOCHS 100000

static void edit_seal(uint8_t *data, size_t size)
{
    kl_base_put_le32(data, (uint32_t)size);
    kl_base_put_le64(data + AT_CHECKSUM,
                     kl_base_hash(data + KL_WIRE_MESSAGE_PREFIX,
                                  size - KL_WIRE_MESSAGE_PREFIX,
                                  kl_base_get_le64(data)));
}

/* Requests of the quorum that begin with their epoch. */
static void edit_epoch(uint8_t *data)
{
    uint8_t *epoch = data + KL_WIRE_MESSAGE_HEADER;

    switch (kl_base_get_le16(data + AT_API_KEY)) {
    case KL_WIRE_VOTE:
    case KL_WIRE_BEGIN_QUORUM_EPOCH:
    case KL_WIRE_END_QUORUM_EPOCH:
        if (!data[AT_IS_RESPONSE])
            kl_base_put_le32(epoch, kl_base_get_le32(epoch) + EDIT_EPOCHS);
    }
}

int net_edit(uint8_t *data, size_t *size, enum net_edit edit, uint64_t number)
{
    /* Who looks for his cluster takes any. */
    if (edit == NET_EDIT_FOREIGN &&
        kl_base_get_le16(data + AT_API_KEY) == KL_WIRE_DESCRIBE_CLUSTER)
        return 0;
    if (edit == NET_EDIT_TRUNCATED && *size <= KL_WIRE_MESSAGE_HEADER)
        return 0;
    if (edit < NET_EDIT_OVERSIZED)
        edit_epoch(data);
    switch (edit) {
    case NET_EDIT_FOREIGN:
        data[AT_CLUSTER + number % 16] ^= 1;
        break;
    case NET_EDIT_MISDIRECTED:
        if (number % 2)
            data[AT_DIRECTORY + number / 2 % 16] ^= 1;
        else
            kl_base_put_le32(data + AT_DESTINATION, 1000);
        break;
    case NET_EDIT_UNKNOWN:
        data[number % 2 ? AT_API_KEY + 1 : AT_VERSION + 1] ^= 64;
        break;
    case NET_EDIT_OVERSIZED:
        kl_base_put_le32(data, KL_WIRE_MESSAGE_MAX + 1);
        return 1;
    default:
        *size -= 1 + number % (*size - KL_WIRE_MESSAGE_HEADER);
    }
    edit_seal(data, *size);
    return 1;
}
