package server

// input keeps bytes that arrived and could not be handled yet: a request of which a part is missing, and what waits behind
// a request in flight. It holds no buffer while it is empty.
type input struct {
	buf   []byte
	off   int // where the next frame starts
	frame int // length of the next frame with its size, 0 while unknown
	// proven is the length of the longest frame that has come whole: a peer that has sent that much gets a buffer for as much at once,
	// instead of one that grows and is copied four times.
	proven int
}

// firstGrowBytes is what a request gets at first; after that its buffer is at most four times what has arrived, so that the
// announced size alone costs nothing. A connection whose requests have been longer before gets as much at once.
const firstGrowBytes = 256 << 10

func (in *input) size() int { return len(in.buf) - in.off }

func (in *input) bytes() []byte { return in.buf[in.off:] }

func (in *input) known() bool { return in.frame > 0 }

// begin notes the length of the next frame.
func (in *input) begin(frame int) { in.frame = frame }

// missing is how many bytes the next frame lacks; 0 when its length is unknown.
func (in *input) missing() int { return max(in.frame-in.size(), 0) }

// take moves bytes from data until upTo bytes of the next frame are here.
func (in *input) take(p *buffers, data *[]byte, upTo int) {
	n := min(upTo-in.size(), len(*data))
	if n <= 0 {
		return
	}
	in.buf = append(in.reserve(p, n), (*data)[:n]...)
	*data = (*data)[n:]
}

// add keeps all of data.
func (in *input) add(p *buffers, data []byte) {
	if len(data) > 0 {
		in.buf = append(in.reserve(p, len(data)), data...)
	}
}

// reserve makes room for n bytes, and for more of the frame that has begun.
func (in *input) reserve(p *buffers, n int) []byte {
	if cap(in.buf)-len(in.buf) >= n {
		return in.buf
	}
	want := max(n, min(in.missing(), max(firstGrowBytes, 4*in.size(), in.proven)-in.size()))
	b := append(p.get(in.size()+want), in.bytes()...)
	p.put(in.buf)
	in.buf, in.off = b, 0
	return b
}

// room is where up to n bytes of the next frame may be read to; grown tells how many were.
func (in *input) room(p *buffers, n int) []byte {
	b := in.buf
	if cap(b)-len(b) < min(n, pullBytes) {
		b = in.reserve(p, min(n, max(firstGrowBytes, 3*in.size(), in.proven-in.size())))
	}
	return b[len(b):min(cap(b), len(b)+n)]
}

func (in *input) grown(n int) { in.buf = in.buf[:len(in.buf)+n] }

// next hands out the next frame, which is complete. It stays valid until release.
func (in *input) next() []byte {
	f := in.buf[in.off : in.off+in.frame]
	in.off += in.frame
	in.proven = min(max(in.proven, in.frame), 1<<maxPooledBits)
	in.frame = 0
	return f
}

// steal gives the buffer away with the frame that was handed out last, if nothing else is in it.
func (in *input) steal() (buf []byte, ok bool) {
	if in.buf == nil || in.off != len(in.buf) {
		return nil, false
	}
	buf = in.buf
	in.buf, in.off = nil, 0
	return buf, true
}

// release frees the buffer when all of it has been handed out.
func (in *input) release(p *buffers) {
	if in.buf != nil && in.off == len(in.buf) {
		in.drop(p)
	}
}

func (in *input) drop(p *buffers) {
	if in.buf != nil {
		p.put(in.buf)
	}
	in.buf, in.off, in.frame = nil, 0, 0
}
