/*
 * The tables of what lists in records and messages are made of.
 */
#include "wire/fields.h"

#define ITEM_FIELDS(type, member, text)                                        \
    static const struct kl_wire_field item_##member##_fields[] = {             \
        KL_WIRE_##type##_FIELDS(KL_WIRE_FIELD, kl_wire_##member)};

KL_WIRE_RECORD_ITEMS(ITEM_FIELDS)
KL_WIRE_MESSAGE_ITEMS(ITEM_FIELDS)

#define ITEM_TABLE(type, member, text)                                         \
    KL_WIRE_TABLE(text, item_##member##_fields, kl_wire_##member, 0, 0)

const struct kl_wire_table kl_wire_items[KL_WIRE_ITEM_COUNT] = {
    KL_WIRE_RECORD_ITEMS(ITEM_TABLE) KL_WIRE_MESSAGE_ITEMS(ITEM_TABLE)};
