/*
 * Counters with one writer and readers on any thread: relaxed atomics that
 * cost a plain add.
 */
#ifndef KL_BASE_STAT_H
#define KL_BASE_STAT_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t kl_base_stat;

static inline uint64_t kl_base_stat_get(const kl_base_stat *s)
{
    return atomic_load_explicit((kl_base_stat *)s, memory_order_relaxed);
}

static inline void kl_base_stat_set(kl_base_stat *s, uint64_t v)
{
    atomic_store_explicit(s, v, memory_order_relaxed);
}

/* Only the owner thread of the counter adds. */
static inline void kl_base_stat_add(kl_base_stat *s, uint64_t n)
{
    kl_base_stat_set(s, kl_base_stat_get(s) + n);
}

/* Bucket i counts values below 2^(i + 1); the last takes the rest. */
#define KL_BASE_HISTOGRAM_BUCKETS 40
struct kl_base_histogram
{
    kl_base_stat buckets[KL_BASE_HISTOGRAM_BUCKETS];
    kl_base_stat count;
    kl_base_stat sum;
};

static inline void kl_base_histogram_add(struct kl_base_histogram *h,
                                         uint64_t v)
{
    int bit = 63 - __builtin_clzll(v | 1);

    if (bit >= KL_BASE_HISTOGRAM_BUCKETS)
        bit = KL_BASE_HISTOGRAM_BUCKETS - 1;
    kl_base_stat_add(&h->buckets[bit], 1);
    kl_base_stat_add(&h->count, 1);
    kl_base_stat_add(&h->sum, v);
}

#endif
