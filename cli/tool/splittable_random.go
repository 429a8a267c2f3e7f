package tool

// splittableRandom is java.util.SplittableRandom: what a seed gives in Kafka's perf test it gives here.
type splittableRandom struct{ seed uint64 }

// goldenGamma is the step between two numbers.
const goldenGamma = 0x9e3779b97f4a7c15

func (r *splittableRandom) next() int32 {
	r.seed += goldenGamma
	z := r.seed
	z = (z ^ z>>33) * 0x62a9d9ed799705f5
	return int32(((z ^ z>>28) * 0xcb24d0a5c88c35b3) >> 32)
}

// below is a number from 0 to bound-1; the bound is above 0.
func (r *splittableRandom) below(bound int32) int32 {
	n, m := r.next(), bound-1
	if bound&m == 0 {
		return n & m
	}
	for u := int32(uint32(n) >> 1); ; u = int32(uint32(r.next()) >> 1) {
		if n = u % bound; u+m-n >= 0 { // else it overflowed: u is in the last, incomplete run of bound numbers
			return n
		}
	}
}
