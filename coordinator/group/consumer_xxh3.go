package group

import (
	"encoding/binary"
	"math/bits"
)

// The 64-bit XXH3 hash with seed 0, as Kafka uses it for the metadata hash of a group. A portable version for the few bytes that are
// hashed here: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, section XXH3.

const (
	prime32x1 = 0x9E3779B1
	prime32x2 = 0x85EBCA77
	prime32x3 = 0xC2B2AE3D
	prime64x1 = 0x9E3779B185EBCA87
	prime64x2 = 0xC2B2AE3D27D4EB4F
	prime64x3 = 0x165667B19E3779F9
	prime64x4 = 0x85EBCA77C2B2AE63
	prime64x5 = 0x27D4EB2F165667C5
	primeMx1  = 0x165667919E3779F9
	primeMx2  = 0x9FB21C651E98DF25

	xxh3StripeBytes      = 64
	xxh3SecretStep       = 8
	xxh3StripesPerBlock  = (len(xxh3Secret) - xxh3StripeBytes) / xxh3SecretStep
	xxh3BlockBytes       = xxh3StripeBytes * xxh3StripesPerBlock
	xxh3MidSizeMax       = 240
	xxh3MidStartOffset   = 3
	xxh3MidLastOffset    = 17
	xxh3MinSecret        = 136
	xxh3MergeOffset      = 11
	xxh3LastStripeOffset = 7
)

// xxh3Secret is the default secret of the specification.
const xxh3Secret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8\xa8" +
	"\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64\xea" +
	"\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e\x2b" +
	"\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

func secret64(at int) uint64 { return binary.LittleEndian.Uint64([]byte(xxh3Secret[at : at+8])) }
func secret32(at int) uint32 { return binary.LittleEndian.Uint32([]byte(xxh3Secret[at : at+4])) }

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func mulFold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func avalancheXXH64(h uint64) uint64 {
	h ^= h >> 33
	h *= prime64x2
	h ^= h >> 29
	h *= prime64x3
	return h ^ h>>32
}

func avalancheXXH3(h uint64) uint64 {
	h ^= h >> 37
	h *= primeMx1
	return h ^ h>>32
}

func xxh3(b []byte) uint64 {
	switch n := len(b); {
	case n == 0:
		return avalancheXXH64(secret64(56) ^ secret64(64))
	case n <= 3:
		combined := uint32(b[0])<<16 | uint32(b[n>>1])<<24 | uint32(b[n-1]) | uint32(n)<<8
		return avalancheXXH64(uint64(combined) ^ uint64(secret32(0)^secret32(4)))
	case n <= 8:
		value := uint64(le32(b[n-4:])) + uint64(le32(b))<<32
		h := value ^ (secret64(8) ^ secret64(16))
		h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
		h *= primeMx2
		h ^= h>>35 + uint64(n)
		h *= primeMx2
		return h ^ h>>28
	case n <= 16:
		lo := le64(b) ^ (secret64(24) ^ secret64(32))
		hi := le64(b[n-8:]) ^ (secret64(40) ^ secret64(48))
		return avalancheXXH3(uint64(n) + bits.ReverseBytes64(lo) + hi + mulFold(lo, hi))
	case n <= 128:
		acc := uint64(n) * prime64x1
		for i := (n - 1) / 32; i >= 0; i-- {
			acc += mix16(b[16*i:], 32*i)
			acc += mix16(b[n-16*(i+1):], 32*i+16)
		}
		return avalancheXXH3(acc)
	case n <= xxh3MidSizeMax:
		return xxh3Mid(b)
	default:
		return xxh3Long(b)
	}
}

func mix16(b []byte, secret int) uint64 {
	return mulFold(le64(b)^secret64(secret), le64(b[8:])^secret64(secret+8))
}

func xxh3Mid(b []byte) uint64 {
	n := len(b)
	acc := uint64(n) * prime64x1
	for i := range 8 {
		acc += mix16(b[16*i:], 16*i)
	}
	acc = avalancheXXH3(acc)
	for i := 8; i < n/16; i++ {
		acc += mix16(b[16*i:], 16*(i-8)+xxh3MidStartOffset)
	}
	return avalancheXXH3(acc + mix16(b[n-16:], xxh3MinSecret-xxh3MidLastOffset))
}

func xxh3Long(b []byte) uint64 {
	n := len(b)
	acc := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	for at := 0; at < n; at += xxh3BlockBytes {
		last := n-at <= xxh3BlockBytes
		stripes := xxh3StripesPerBlock
		if last {
			stripes = (n - at - 1) / xxh3StripeBytes
		}
		for i := range stripes {
			xxh3Stripe(&acc, b[at+i*xxh3StripeBytes:], i*xxh3SecretStep)
		}
		if last {
			break
		}
		for i := range acc {
			acc[i] = (acc[i] ^ acc[i]>>47 ^ secret64(len(xxh3Secret)-xxh3StripeBytes+8*i)) * prime32x1
		}
	}
	xxh3Stripe(&acc, b[n-xxh3StripeBytes:], len(xxh3Secret)-xxh3StripeBytes-xxh3LastStripeOffset)
	h := uint64(n) * prime64x1
	for i := range 4 {
		h += mulFold(acc[2*i]^secret64(xxh3MergeOffset+16*i), acc[2*i+1]^secret64(xxh3MergeOffset+16*i+8))
	}
	return avalancheXXH3(h)
}

func xxh3Stripe(acc *[8]uint64, b []byte, secret int) {
	for i := range acc {
		value := le64(b[8*i:])
		keyed := value ^ secret64(secret+8*i)
		acc[i^1] += value
		acc[i] += (keyed & 0xFFFFFFFF) * (keyed >> 32)
	}
}
