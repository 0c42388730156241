/* What the search of CPU seeds is measured against: MT19937's seeding, alone and with four masked parities.
 *
 * Each question is asked of `count` consecutive seeds, and each loop is written in two ways.
 *
 * *_lanes    BLOCK seeds side by side in arrays; the compiler makes vectors of the inner loop. BLOCK is to be
 *            varied: small blocks wait for the multiplication, large ones leave the first cache.
 * *_vectors  VECTORS vectors of 512 bits, kept in registers, by GCC's and clang's vector types. VECTORS is to
 *            be varied: with few the multiplication is waited for, with many the registers run out.
 *
 * seeding_*  runs the seeding and returns the exclusive or of the last words.
 * four_*     adds up the words of each seed under four masks (masks[4 * word + number]) meanwhile, and counts
 *            the seeds whose four parities are `wanted` (that of mask k in bit k).
 *
 * `count` must be a multiple of BLOCK and of 16 * VECTORS.
 *
 * Build: cc -O3 -march=native -mprefer-vector-width=512 -DBLOCK=512 -DVECTORS=6 -shared -fPIC -o cpu_seeding.so
 *        cpu_seeding.c
 */
#include <stdint.h>

#ifndef BLOCK
#define BLOCK 512
#endif
#ifndef VECTORS
#define VECTORS 6
#endif
#define SIZE 624
#define SEEDING 1812433253u
#define WIDTH 16
#define ALIGNED __attribute__((aligned(64)))

typedef uint32_t vec __attribute__((vector_size(4 * WIDTH)));

uint32_t seeding_lanes(uint32_t first, uint64_t count) {
    uint32_t x[BLOCK] ALIGNED, total = 0;
    for (uint64_t done = 0; done < count; done += BLOCK) {
        for (int j = 0; j < BLOCK; j++) x[j] = first + (uint32_t)done + (uint32_t)j;
        for (uint32_t i = 1; i < SIZE; i++)
            for (int j = 0; j < BLOCK; j++) x[j] = SEEDING * (x[j] ^ x[j] >> 30) + i;
        for (int j = 0; j < BLOCK; j++) total ^= x[j];
    }
    return total;
}

static inline uint32_t parity(uint32_t w) {
    w ^= w >> 16;
    w ^= w >> 8;
    w ^= w >> 4;
    w ^= w >> 2;
    return (w ^ w >> 1) & 1;
}

uint64_t four_lanes(uint32_t first, uint64_t count, const uint32_t *masks, uint32_t wanted) {
    uint32_t x[BLOCK] ALIGNED, a[BLOCK] ALIGNED, b[BLOCK] ALIGNED, c[BLOCK] ALIGNED, d[BLOCK] ALIGNED;
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count; done += BLOCK) {
        for (int j = 0; j < BLOCK; j++) {
            uint32_t w = x[j] = first + (uint32_t)done + (uint32_t)j;
            a[j] = w & masks[0];
            b[j] = w & masks[1];
            c[j] = w & masks[2];
            d[j] = w & masks[3];
        }
        for (uint32_t i = 1; i < SIZE; i++) {
            const uint32_t p = masks[4 * i], q = masks[4 * i + 1], r = masks[4 * i + 2], s = masks[4 * i + 3];
            for (int j = 0; j < BLOCK; j++) {
                uint32_t w = x[j] = SEEDING * (x[j] ^ x[j] >> 30) + i;
                a[j] ^= w & p;
                b[j] ^= w & q;
                c[j] ^= w & r;
                d[j] ^= w & s;
            }
        }
        uint32_t here = 0;
        for (int j = 0; j < BLOCK; j++)
            here += (parity(a[j]) | parity(b[j]) << 1 | parity(c[j]) << 2 | parity(d[j]) << 3) == wanted;
        hits += here;
    }
    return hits;
}

static inline vec wide(uint32_t w) { return (vec){0} + w; }

static inline vec sixteen_seeds(uint32_t first) {
    return wide(first) + (vec){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

uint32_t seeding_vectors(uint32_t first, uint64_t count) {
    vec x[VECTORS], total = wide(0);
    uint32_t all = 0;
    for (uint64_t done = 0; done < count; done += WIDTH * VECTORS) {
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++) x[v] = sixteen_seeds(first + (uint32_t)done + WIDTH * (uint32_t)v);
#pragma GCC unroll 1
        for (uint32_t i = 1; i < SIZE; i++) {
#pragma GCC unroll 16
            for (int v = 0; v < VECTORS; v++) x[v] = SEEDING * (x[v] ^ x[v] >> 30) + i;
        }
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++) total ^= x[v];
    }
    for (int j = 0; j < WIDTH; j++) all ^= total[j];
    return all;
}

static inline vec parities(vec w) {
    w ^= w >> 16;
    w ^= w >> 8;
    w ^= w >> 4;
    w ^= w >> 2;
    return (w ^ w >> 1) & 1;
}

uint64_t four_vectors(uint32_t first, uint64_t count, const uint32_t *masks, uint32_t wanted) {
    vec x[VECTORS], sums[4][VECTORS], total = wide(0);
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count; done += WIDTH * VECTORS) {
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++) {
            x[v] = sixteen_seeds(first + (uint32_t)done + WIDTH * (uint32_t)v);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) sums[k][v] = x[v] & masks[k];
        }
#pragma GCC unroll 1
        for (uint32_t i = 1; i < SIZE; i++) {
#pragma GCC unroll 16
            for (int v = 0; v < VECTORS; v++) x[v] = SEEDING * (x[v] ^ x[v] >> 30) + i;
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const vec mask = wide(masks[4 * i + k]);
#pragma GCC unroll 16
                for (int v = 0; v < VECTORS; v++) sums[k][v] ^= x[v] & mask;
            }
        }
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++) {
            vec bits = parities(sums[0][v]);
#pragma GCC unroll 4
            for (int k = 1; k < 4; k++) bits |= parities(sums[k][v]) << k;
            total -= (vec)(bits == wanted);
        }
    }
    for (int j = 0; j < WIDTH; j++) hits += total[j];
    return hits;
}
