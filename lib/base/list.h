/*
 * Intrusive lists. `queue` is singly linked, first in first out; `list` is
 * doubly linked with a head, for removal from the middle.
 */
#ifndef KL_BASE_LIST_H
#define KL_BASE_LIST_H

#include <stddef.h>

#define KL_BASE_CONTAINER(ptr, type, member)                                   \
    ((type *)((char *)(ptr)-offsetof(type, member)))

struct kl_base_list
{
    struct kl_base_list *next;
    struct kl_base_list *prev;
};

/* Initialiser of a list that stays empty, as part of a constant: a stand-in for
 * lists that are not there yet. */
#define KL_BASE_LIST_EMPTY(list)                                               \
    {                                                                          \
        (struct kl_base_list *)&(list), (struct kl_base_list *)&(list)         \
    }

static inline void kl_base_list_init(struct kl_base_list *l)
{
    l->next = l;
    l->prev = l;
}

static inline int kl_base_list_is_empty(const struct kl_base_list *l)
{
    return l->next == l;
}

/* Appends item at the end of the list with this head. */
static inline void kl_base_list_push(struct kl_base_list *head,
                                     struct kl_base_list *item)
{
    item->prev = head->prev;
    item->next = head;
    head->prev->next = item;
    head->prev = item;
}

/* Removes an item and leaves it empty, so that removing twice is harmless. */
static inline void kl_base_list_remove(struct kl_base_list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    kl_base_list_init(item);
}

/* First item, or NULL. */
static inline struct kl_base_list *kl_base_list_first(struct kl_base_list *head)
{
    return head->next == head ? NULL : head->next;
}

/* Removes and returns the first item, or NULL. */
static inline struct kl_base_list *kl_base_list_pop(struct kl_base_list *head)
{
    struct kl_base_list *item = kl_base_list_first(head);

    if (item)
        kl_base_list_remove(item);
    return item;
}

#endif
