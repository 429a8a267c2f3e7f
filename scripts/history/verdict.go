package main

// judge compares what writers know with what readers got, when all is done.
func (h *history) judge() {
	isolated := map[string]bool{}
	for p := range int32(partitions) {
		all := h.inOrder(p, h.readers[p].got)
		for _, r := range h.readers[partitions+p].got {
			if all[r.value] != r.offset {
				h.problem("partition %d: a reader of committed records got %s at offset %d, a reader of all at %d", p, r.value, r.offset, all[r.value])
			}
			if isolated[r.value] {
				h.problem("partition %d: a reader of committed records got %s twice", p, r.value)
			}
			isolated[r.value] = true
		}
		for v, s := range h.ledger.sent {
			if at, ok := all[v]; s.partition == p && s.offset >= 0 && (!ok || at != s.offset) {
				h.problem("partition %d: %s was acknowledged at offset %d and is not there (found: %v, at %d)", p, v, s.offset, ok, at)
			}
		}
	}
	for v, s := range h.ledger.sent {
		if s.txn == nil && s.offset >= 0 && !isolated[v] {
			h.problem("%s, written without a transaction, was not read by a reader of committed records", v)
		}
	}
	for _, t := range h.ledger.txns {
		h.whole(t, isolated)
	}
}

// inOrder checks one reader's records: none twice, each writer's in its order. It returns where they are.
func (h *history) inOrder(partition int32, got []record) map[string]int64 {
	at := map[string]int64{}
	newest := map[string]int{}
	for _, r := range got {
		if first, twice := at[r.value]; twice {
			h.problem("partition %d: %s is at offset %d and at %d", partition, r.value, first, r.offset)
			continue
		}
		at[r.value] = r.offset
		s := h.ledger.sent[r.value]
		if s == nil {
			continue // told when it was read
		}
		if last, ok := newest[s.writer]; ok && s.number <= last {
			h.problem("partition %d offset %d: %s comes after number %d of its writer", partition, r.offset, r.value, last)
		}
		newest[s.writer] = s.number
	}
	return at
}

// whole checks that a transaction was seen wholly or not at all.
func (h *history) whole(t *transaction, isolated map[string]bool) {
	n := 0
	for _, v := range t.values {
		if isolated[v] {
			n++
		}
	}
	switch {
	case t.state == committed && n < len(t.values):
		h.problem("%v was committed, and a reader of committed records got %d of its %d records", t, n, len(t.values))
	case (t.state == aborted || t.state == open) && n > 0:
		h.problem("%v was not committed, and a reader of committed records got %d of its records", t, n)
	case n != 0 && n != len(t.values):
		h.problem("%v was seen in part: %d of %d records", t, n, len(t.values))
	}
}
