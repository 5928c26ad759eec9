/* JSON text and a table of strings. No place of a text is read before it is held against the text's end. */

#include <stdlib.h>

#include "native.h"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define HAS_SSE2 1
#endif

/* The number that four hexadecimal digits write; -1 where one is none. */
static int hex4(const uint8_t *p, const uint8_t *end)
{
    int value = 0;
    for (int k = 0; k < 4; k++) {
        unsigned c = end - p > k ? p[k] : 0;
        if (c >= '0' && c <= '9')
            value = value * 16 + (int)(c - '0');
        else if ((c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'))
            value = value * 16 + (int)(c & 7) + 9;
        else
            return -1;
    }
    return value;
}

/* After an escape that starts at p, or NULL; half of a surrogate pair is no character. */
static const uint8_t *escape_end(const uint8_t *p, const uint8_t *end, unsigned *flags)
{
    unsigned c = byte_at(p + 1, end);
    *flags |= ESCAPED;
    if (c != 'u')
        return c && strchr("\"\\/bfnrt", (int)c) ? p + 2 : NULL;
    *flags |= UNICODE_ESCAPE;
    int code = hex4(p + 2, end);
    if (code < 0 || (code >= 0xDC00 && code < 0xE000))
        return NULL;
    p += 6;
    if (code < 0xD800 || code >= 0xDC00)
        return p;
    if (byte_at(p, end) != '\\' || byte_at(p + 1, end) != 'u')
        return NULL;
    code = hex4(p + 2, end);
    return code >= 0xDC00 && code < 0xE000 ? p + 6 : NULL;
}

const uint8_t *string_end(const uint8_t *p, const uint8_t *end, unsigned *flags)
{
    *flags = 0;
    while (p < end) {
#ifdef HAS_SSE2
        if (end - p >= 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)p), last = _mm_set1_epi8(0x1F);
            __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                         _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
            unsigned special = (unsigned)_mm_movemask_epi8(
                _mm_or_si128(found, _mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes)));
            unsigned high = (unsigned)_mm_movemask_epi8(bytes);
            if (!special) {
                *flags |= high ? NOT_ASCII : 0;
                p += 16;
                continue;
            }
            unsigned before = trailing_zeros(special);
            *flags |= high & ((1u << before) - 1) ? NOT_ASCII : 0;
            p += before;
        }
#endif
        unsigned c = *p;
        if (c == '"')
            return p;
        if (c < ' ')
            return NULL;
        if (c == '\\') {
            if (!(p = escape_end(p, end, flags)))
                return NULL;
        } else {
            *flags |= c >= 0x80 ? NOT_ASCII : 0;
            p++;
        }
    }
    return NULL;
}

int is_utf8(const uint8_t *p, const uint8_t *end)
{
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    while (p < end) {
        uint32_t c = *p++;
        int more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : -1;
        if (more < 0 || end - p < more)
            return 0;
        c &= more ? 0x3Fu >> more : 0x7Fu;
        for (int k = 0; k < more; k++, p++) {
            if (*p >> 6 != 2)
                return 0;
            c = c << 6 | (*p & 0x3Fu);
        }
        if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
            return 0;
    }
    return 1;
}

const uint8_t *digits(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    static const uint64_t powers[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const uint8_t *begin = p;
    uint64_t sum = 0;
    while (end - p >= 8) {
        /* Eight at once: the first byte that is no digit is the first one whose highest bit is set in `others`. */
        uint64_t word = load64(p) ^ UINT64_C(0x3030303030303030);
        uint64_t others = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
        unsigned k = others ? trailing_zeros(others) >> 3 : 8;
        if (k == 0)
            break;
        word <<= 64 - 8 * k;
        word = word * 10 + (word >> 8);
        uint64_t even = (word & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064);
        uint64_t odd = (word >> 16 & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001);
        sum = sum * powers[k] + ((even + odd) >> 32);
        p += k;
        if (k < 8)
            break;
    }
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        sum = sum * 10 + (*p - '0');
    *value = sum;
    return p > begin ? p : NULL;
}

/* After a JSON number, or NULL. */
static const uint8_t *number_end(const uint8_t *p, const uint8_t *end)
{
    p += byte_at(p, end) == '-';
    unsigned first = byte_at(p, end);
    const uint8_t *begin = p;
    uint64_t value;
    if (!(p = digits(p, end, &value)) || (first == '0' && p - begin > 1))
        return NULL;
    if (byte_at(p, end) == '.' && !(p = digits(p + 1, end, &value)))
        return NULL;
    unsigned c = byte_at(p, end);
    if (c != 'e' && c != 'E')
        return p;
    c = byte_at(++p, end);
    return digits(p + (c == '+' || c == '-'), end, &value);
}

const uint8_t *word_end(const uint8_t *p, const uint8_t *end)
{
    if (end - p >= 4 && (!memcmp(p, "true", 4) || !memcmp(p, "null", 4)))
        return p + 4;
    return end - p >= 5 && !memcmp(p, "false", 5) ? p + 5 : NULL;
}

/* After a value that holds no other, or NULL. */
static const uint8_t *scalar_end(const uint8_t *p, const uint8_t *end)
{
    unsigned c = byte_at(p, end), flags;
    if (c == '"') {
        p = string_end(p + 1, end, &flags);
        return p ? p + 1 : NULL;
    }
    return c == '-' || (c >= '0' && c <= '9') ? number_end(p, end) : word_end(p, end);
}

/* Where the value of a key begins, from the key on; NULL where there is none. */
static const uint8_t *key_end(const uint8_t *p, const uint8_t *end)
{
    unsigned flags;
    if (byte_at(p, end) != '"' || !(p = string_end(p + 1, end, &flags)))
        return NULL;
    p = space(p + 1, end);
    return byte_at(p, end) == ':' ? space(p + 1, end) : NULL;
}

const uint8_t *value_end(const uint8_t *p, const uint8_t *end)
{
    enum { DEEPEST = 60 };
    uint64_t objects = 0; /* lowest bit: the innermost container is an object; the next one: the one around it */
    int depth = 0;
    for (;;) {
        /* A value begins here. */
        unsigned c = byte_at(p, end);
        int is_open = c == '[' || c == '{';
        if (is_open) {
            if (++depth > DEEPEST)
                return NULL;
            objects = objects << 1 | (c == '{');
            p = space(p + 1, end);
            is_open = byte_at(p, end) != c + 2; /* ] and } stand two after [ and { */
        } else if (!(p = scalar_end(p, end))) {
            return NULL;
        }
        /* Here one is over, or a container is open and its first value comes. */
        while (!is_open) {
            if (!depth)
                return p;
            p = space(p, end);
            c = byte_at(p, end);
            if (c == ',') {
                p = space(p + 1, end);
                break;
            }
            if (c != (objects & 1 ? '}' : ']'))
                return NULL;
            depth--;
            objects >>= 1;
            p++;
        }
        if (objects & 1 && !(p = key_end(p, end)))
            return NULL;
    }
}

/* --- distinct strings --- */

static uint64_t rotated(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] = rotated(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[2] = rotated(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein 2012; one round a block and three at the end, as Python and Rust have it): no
texts are known that fall together whatever the key is. */
uint64_t hashed(const uint8_t *p, size_t length, const uint64_t key[2])
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736F6D6570736575), key[1] ^ UINT64_C(0x646F72616E646F6D),
                     key[0] ^ UINT64_C(0x6C7967656E657261), key[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)length << 56;
    for (; length >= 8; length -= 8, p += 8) {
        uint64_t block = load64(p);
        v[3] ^= block;
        sip_round(v);
        v[0] ^= block;
    }
    last |= load_some(p, length);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xFF;
    for (int k = 0; k < 3; k++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static size_t used(const struct strings *strings) { return strings->n ? (size_t)strings->ends[strings->n - 1] : 0; }

/* Twice as much room, and so many bytes; 0 where there is no memory. */
static int grow(struct strings *strings, size_t length)
{
    size_t room = strings->room ? 2 * strings->room : 1 << 12, n_slots = 4 * room;
    size_t arena_room = 2 * (used(strings) + length) + (1 << 16);
    uint64_t *ends = realloc(strings->ends, room * sizeof *ends);
    strings->ends = ends ? ends : strings->ends;
    uint8_t *arena = realloc(strings->arena, arena_room);
    strings->arena = arena ? arena : strings->arena;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!ends || !arena || !slots) {
        free(slots);
        return 0;
    }
    for (size_t k = 0, at = 0; k < strings->n; at = (size_t)ends[k++]) {
        size_t j = hashed(arena + at, (size_t)ends[k] - at, strings->key) & (n_slots - 1);
        while (slots[j])
            j = (j + 1) & (n_slots - 1);
        slots[j] = (uint32_t)k + 1;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->n_slots = n_slots;
    strings->room = room;
    strings->arena_room = arena_room;
    return 1;
}

int64_t intern(struct strings *strings, const uint8_t *text, size_t length)
{
    if (strings->n == strings->room || strings->arena_room - used(strings) < length)
        if (strings->n >= MOST_STRINGS || !grow(strings, length))
            return -1;
    size_t j = hashed(text, length, strings->key) & (strings->n_slots - 1), n = strings->n, begin = used(strings);
    for (; strings->slots[j]; j = (j + 1) & (strings->n_slots - 1)) {
        size_t k = strings->slots[j] - 1, at = k ? (size_t)strings->ends[k - 1] : 0;
        if (strings->ends[k] - at == length && !memcmp(strings->arena + at, text, length))
            return (int64_t)k;
    }
    memcpy(strings->arena + begin, text, length);
    strings->ends[n] = begin + length;
    strings->slots[j] = (uint32_t)++strings->n;
    return (int64_t)n;
}

void strings_end(struct strings *strings)
{
    free(strings->slots);
    free(strings->ends);
    free(strings->arena);
    memset(strings, 0, sizeof *strings);
}
