/* What the scan is measured against: two Philox4x32-10 loops in C with AVX2 intrinsics.
 *
 * Both answer one question about `count` consecutive 32-bit seeds: for how many is word 0 of the block
 * (counter, thread) at most `limit`? Four seeds share a vector, one in each 64-bit lane; eight are in flight.
 *
 * philox_20  one full block of 20 multiplications and one compare a seed. The counter passes through an empty
 *            asm statement for each vector, so that the compiler cannot hoist the products that do not depend
 *            on the seed.
 * philox_16  only what depends on the seed: no multiplication in round 1, one in round 2, two in each of the
 *            rounds 3 to 9, and one in round 10.
 *
 * Build: cc -O3 -mavx2 -shared -fPIC -o philox_c.so philox_c.c
 */
#include <immintrin.h>
#include <stdint.h>

#define M0 0xD2511F53u
#define M1 0xCD9E8D57u
#define W0 0x9E3779B9u
#define W1 0xBB67AE85u
#define VECTORS 2

static inline __m256i wide(uint64_t x) { return _mm256_set1_epi64x((long long)x); }

static inline __m256i xor3(__m256i a, __m256i b, __m256i c) {
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

static inline __m256i high(__m256i x) { return _mm256_srli_epi64(x, 32); }

static inline uint64_t at_most(__m256i word, __m256i limit) {
    __m256i low = _mm256_and_si256(word, wide(0xFFFFFFFFu));
    return (uint64_t)(4 - __builtin_popcount(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(low, limit)))));
}

static inline __m256i four_seeds(uint32_t first) {
    return _mm256_add_epi64(wide(first), _mm256_set_epi64x(3, 2, 1, 0));
}

/* count must be a multiple of 8 and first + count at most 2^32. */
uint64_t philox_20(uint32_t first, uint64_t count, uint64_t counter, uint64_t thread, uint32_t limit) {
    const __m256i m0 = wide(M0), m1 = wide(M1), most = wide(limit);
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count; done += 4 * VECTORS) {
        for (int v = 0; v < VECTORS; v++) {
            __m256i k0 = four_seeds(first + (uint32_t)done + 4u * (uint32_t)v), k1 = wide(0);
            __m256i c0 = wide(counter & 0xFFFFFFFFu), c1 = wide(counter >> 32);
            __m256i c2 = wide(thread & 0xFFFFFFFFu), c3 = wide(thread >> 32);
            __asm__ volatile("" : "+x"(c0), "+x"(c1), "+x"(c2), "+x"(c3), "+x"(k1));
#pragma GCC unroll 10
            for (int round = 0; round < 10; round++) {
                __m256i p0 = _mm256_mul_epu32(m0, c0), p1 = _mm256_mul_epu32(m1, c2);
                c0 = xor3(high(p1), c1, k0);
                c2 = xor3(high(p0), c3, k1);
                c1 = p1;
                c3 = p0;
                k0 = _mm256_add_epi32(k0, wide(W0));
                k1 = _mm256_add_epi32(k1, wide(W1));
            }
            /* All four words are made, as a full block makes them. */
            __asm__ volatile("" : : "x"(c1), "x"(c2), "x"(c3));
            hits += at_most(c0, most);
        }
    }
    return hits;
}

uint64_t philox_16(uint32_t first, uint64_t count, uint64_t counter, uint64_t thread, uint32_t limit) {
    const uint64_t q0 = (uint64_t)M0 * (uint32_t)counter, q1 = (uint64_t)M1 * (uint32_t)thread;
    const uint32_t second = (uint32_t)(q0 >> 32) ^ (uint32_t)(thread >> 32);
    const uint64_t again = (uint64_t)M1 * second;
    const __m256i m0 = wide(M0), m1 = wide(M1), most = wide(limit);
    const __m256i a = wide((uint32_t)(q1 >> 32) ^ (uint32_t)(counter >> 32));
    const __m256i b = wide((uint32_t)(again >> 32) ^ (uint32_t)q1);
    const __m256i c = wide((uint32_t)again);
    const __m256i d = wide((uint32_t)q0 ^ W1);
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count; done += 4 * VECTORS) {
        for (int v = 0; v < VECTORS; v++) {
            __m256i seed = four_seeds(first + (uint32_t)done + 4u * (uint32_t)v);
            __m256i k0 = _mm256_add_epi32(seed, wide(W0)), k1 = wide(W1);
            __m256i p0 = _mm256_mul_epu32(m0, _mm256_xor_si256(a, seed)), p1;
            __m256i c0 = _mm256_xor_si256(b, k0), c1 = c, c2 = _mm256_xor_si256(high(p0), d), c3 = p0;
#pragma GCC unroll 7
            for (int round = 3; round <= 9; round++) {
                k0 = _mm256_add_epi32(k0, wide(W0));
                k1 = _mm256_add_epi32(k1, wide(W1));
                p0 = _mm256_mul_epu32(m0, c0);
                p1 = _mm256_mul_epu32(m1, c2);
                c0 = xor3(high(p1), c1, k0);
                c2 = xor3(high(p0), c3, k1);
                c1 = p1;
                c3 = p0;
            }
            p1 = _mm256_mul_epu32(m1, c2);
            hits += at_most(xor3(high(p1), c1, _mm256_add_epi32(k0, wide(W0))), most);
        }
    }
    return hits;
}
