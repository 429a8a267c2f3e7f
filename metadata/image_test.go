package metadata

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kaja-mq/kaja/metadata/record"
)

// apply applies or fails the test.
func apply(t testing.TB, img *Image, recs ...record.Message) (*Image, *Delta) {
	t.Helper()
	next, delta, err := img.Apply(recs, img.Offset+int64(len(recs)), 1)
	if err != nil {
		t.Fatal(err)
	}
	return next, delta
}

// folded is the image from nothing by the records of img's snapshot, which go through their bytes.
func folded(t testing.TB, img *Image) *Image {
	t.Helper()
	var recs []record.Message
	for r := range img.Records() {
		m, _, err := record.Read(record.Append(nil, r, record.VersionAt(r, 33)))
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, m)
	}
	out, _, err := Empty().Apply(recs, img.Offset, img.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// history makes random records that fit the image that they lead to.
type history struct {
	r      *rand.Rand
	nextID uint64
	live   []*Topic // created and not deleted
	epochs map[int32]int64
}

func (h *history) id() [16]byte {
	var id [16]byte
	h.nextID++
	binary.BigEndian.PutUint64(id[:], h.r.Uint64()|1)
	binary.BigEndian.PutUint64(id[8:], h.nextID)
	return id
}

func (h *history) nodes(n int) []int32 {
	list := []int32{1, 2, 3, 4, 5}
	h.r.Shuffle(5, func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}

func (h *history) dirs(n int) [][16]byte {
	list := make([][16]byte, n)
	for i := range list {
		list[i] = [16]byte{3: byte(h.r.IntN(3) + 1)}
	}
	return list
}

func (h *history) step() []record.Message {
	pick := h.r.IntN(20)
	switch {
	case pick < 4 || len(h.live) == 0:
		t := &Topic{Name: fmt.Sprintf("topic-%03d", h.r.IntN(400)), ID: h.id()}
		if slices.ContainsFunc(h.live, func(x *Topic) bool { return x.Name == t.Name }) {
			return []record.Message{&record.NoOpRecord{}}
		}
		recs := []record.Message{&record.TopicRecord{Name: t.Name, TopicID: t.ID}}
		for i := range h.r.IntN(5) + 1 {
			n := h.r.IntN(3) + 1
			nodes := h.nodes(n)
			recs = append(recs, &record.PartitionRecord{PartitionID: int32(i), TopicID: t.ID, Replicas: nodes, ISR: slices.Clone(nodes), Leader: nodes[0], Directories: h.dirs(n)})
			t.Partitions = append(t.Partitions, Partition{})
		}
		h.live = append(h.live, t)
		return recs
	case pick < 12:
		t := h.live[h.r.IntN(len(h.live))]
		c := record.NewPartitionChangeRecord()
		c.TopicID, c.PartitionID = t.ID, int32(h.r.IntN(len(t.Partitions)))
		switch h.r.IntN(4) {
		case 0:
			c.Leader, c.ISR = int32(h.r.IntN(6)-1), h.nodes(h.r.IntN(3))
		case 1:
			c.ISR, c.EligibleLeaderReplicas, c.LastKnownELR = h.nodes(1), h.nodes(h.r.IntN(3)), h.nodes(h.r.IntN(2))
		case 2:
			c.Replicas, c.Directories, c.AddingReplicas, c.RemovingReplicas = h.nodes(3), h.dirs(3), h.nodes(1), h.nodes(0)
		case 3:
			c.LeaderRecoveryState = int8(h.r.IntN(2))
		}
		return []record.Message{c}
	case pick == 12:
		i := h.r.IntN(len(h.live))
		id := h.live[i].ID
		h.live = slices.Delete(h.live, i, i+1)
		return []record.Message{&record.RemoveTopicRecord{TopicID: id}}
	case pick == 13:
		return []record.Message{&record.ClearElrRecord{}}
	case pick < 16:
		c := &record.ConfigRecord{ResourceType: ResourceTopic, ResourceName: h.live[h.r.IntN(len(h.live))].Name, Name: fmt.Sprint("c", h.r.IntN(3))}
		if h.r.IntN(3) > 0 {
			v := fmt.Sprint(h.r.IntN(9))
			c.Value = &v
		}
		return []record.Message{c}
	case pick == 16:
		id := int32(h.r.IntN(3) + 1)
		h.epochs[id]++
		r := record.NewRegisterBrokerRecord()
		r.BrokerID, r.BrokerEpoch, r.IncarnationID, r.LogDirs = id, h.epochs[id], h.id(), h.dirs(2)
		unfence := &record.BrokerRegistrationChangeRecord{BrokerID: id, BrokerEpoch: h.epochs[id], Fenced: -1}
		return []record.Message{r, unfence}
	case pick == 17:
		name := fmt.Sprint("u", h.r.IntN(3))
		return []record.Message{&record.ClientQuotaRecord{Entity: []record.EntityData{{EntityType: "user", EntityName: &name}},
			Key: fmt.Sprint("k", h.r.IntN(2)), Value: float64(h.r.IntN(5)), Remove: h.r.IntN(2) == 0}}
	case pick == 18:
		k := fmt.Sprint("u", h.r.IntN(3))
		if h.r.IntN(2) == 0 {
			return []record.Message{&record.RemoveUserScramCredentialRecord{Name: k, Mechanism: 1}}
		}
		return []record.Message{&record.UserScramCredentialRecord{Name: k, Mechanism: 1, Salt: []byte{1}, StoredKey: []byte{2}, ServerKey: []byte{3}, Iterations: int32(h.r.IntN(9))}}
	}
	return []record.Message{&record.ProducerIdsRecord{NextProducerID: int64(h.r.IntN(9) * 1000)},
		&record.FeatureLevelRecord{Name: fmt.Sprint("f", h.r.IntN(3)), FeatureLevel: int16(h.r.IntN(3))}}
}

// TestHistories: over random histories an image equals the fold of its snapshot (I2), the images before it stay as they were (I1), and it
// makes no difference how the records are cut into calls of Apply.
func TestHistories(t *testing.T) {
	for seed := range uint64(20) {
		h := &history{r: rand.New(rand.NewPCG(seed, 7)), epochs: map[int32]int64{}}
		img, cut := Empty(), Empty()
		type kept struct {
			img  *Image
			text string
		}
		var past []kept
		var pending []record.Message
		for range 400 {
			recs := h.step()
			img, _ = apply(t, img, recs...)
			pending = append(pending, recs...)
			if h.r.IntN(10) == 0 {
				cut, _ = apply(t, cut, pending...)
				pending = nil
				if got, want := show(cut), show(img); got != want {
					t.Fatalf("seed %d: many records at once give\n%s\nand one by one\n%s", seed, got, want)
				}
			}
			if h.r.IntN(40) == 0 {
				past = append(past, kept{img: img, text: show(img)})
				if got := show(folded(t, img)); got != past[len(past)-1].text {
					t.Fatalf("seed %d: the fold of the snapshot is\n%s\nof the image\n%s", seed, got, past[len(past)-1].text)
				}
				checkLookups(t, img)
			}
		}
		for i, p := range past {
			if got := show(p.img); got != p.text {
				t.Fatalf("seed %d: image %d was\n%s\nand became\n%s", seed, i, p.text, got)
			}
		}
	}
}

// checkLookups: name, id and order agree.
func checkLookups(t *testing.T, img *Image) {
	t.Helper()
	topics, partitions, last := 0, 0, ""
	for topic := range img.Topics() {
		if topic.Name <= last {
			t.Fatalf("%s comes after %s", topic.Name, last)
		}
		last = topic.Name
		topics++
		partitions += len(topic.Partitions)
		if img.Topic(topic.Name) != topic || img.TopicByID(topic.ID) != topic {
			t.Fatalf("%s is not found by its name and its id", topic.Name)
		}
	}
	if topics != img.TopicCount() || partitions != img.PartitionCount() {
		t.Fatalf("%d topics and %d partitions, counted %d and %d", img.TopicCount(), img.PartitionCount(), topics, partitions)
	}
}

// TestDeltaTellsAll: over random histories, what differs between two images is in the delta between them.
func TestDeltaTellsAll(t *testing.T) {
	h := &history{r: rand.New(rand.NewPCG(9, 9)), epochs: map[int32]int64{}}
	img := Empty()
	for range 2000 {
		var recs []record.Message
		for range h.r.IntN(4) + 1 {
			recs = append(recs, h.step()...)
		}
		next, d := apply(t, img, recs...)
		seen := map[[16]byte]bool{}
		for _, side := range []*Image{img, next} {
			for topic := range side.Topics() {
				before, after := img.TopicByID(topic.ID), next.TopicByID(topic.ID)
				td := d.Topics[topic.ID]
				if before != after && (td == nil || td.Old != before || td.New != after) {
					t.Fatalf("topic %s went from %v to %v, the delta says %v", topic.Name, before, after, td)
				}
				if before == after && td != nil {
					t.Fatalf("topic %s did not change, the delta says %v", topic.Name, td)
				}
				if td != nil && after != nil && !seen[topic.ID] {
					checkPartitions(t, td)
				}
				seen[topic.ID] = true
			}
		}
		for id := range d.Topics {
			if !seen[id] {
				t.Fatalf("the delta has topic %x, which was never there", id)
			}
		}
		for res, set := range img.Configs() {
			if _, told := d.Configs[res]; !told && !reflect.DeepEqual(next.Config(res.Type, res.Name), set) {
				t.Fatalf("the delta does not tell that %v changed", res)
			}
		}
		img = next
	}
}

func checkPartitions(t *testing.T, td *TopicDelta) {
	t.Helper()
	for id := range td.New.Partitions {
		told := slices.Contains(td.Partitions, int32(id))
		if td.Old == nil || id >= len(td.Old.Partitions) {
			if !told {
				t.Fatalf("new partition %d of %s is not in the delta", id, td.New.Name)
			}
			continue
		}
		if !told && !reflect.DeepEqual(td.Old.Partitions[id], td.New.Partitions[id]) {
			t.Fatalf("partition %d of %s changed and is not in the delta", id, td.New.Name)
		}
	}
}

// TestFullDelta: it is the delta of a snapshot applied to nothing.
func TestFullDelta(t *testing.T) {
	h := &history{r: rand.New(rand.NewPCG(3, 3)), epochs: map[int32]int64{}}
	img := Empty()
	for range 300 {
		img, _ = apply(t, img, h.step()...)
	}
	var recs []record.Message
	for r := range img.Records() {
		recs = append(recs, r)
	}
	fold, delta, err := Empty().Apply(recs, img.Offset, img.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	sorted := func(d *Delta) string {
		slices.Sort(d.Features)
		d.Quotas = slices.CompactFunc(d.Quotas, func(a, b []EntityPart) bool { return entityKey(a) == entityKey(b) })
		return showDelta(d)
	}
	if got, want := sorted(FullDelta(fold)), sorted(delta); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestKafkaLog folds a metadata log that Apache Kafka 4.4.0 wrote.
func TestKafkaLog(t *testing.T) {
	f, err := os.Open("record/testdata/cluster_metadata.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var recs []record.Message
	for lines := bufio.NewScanner(f); lines.Scan(); {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		if kind != "Record" {
			continue
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := record.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, m)
	}
	img, _ := apply(t, Empty(), recs...)
	var got strings.Builder
	for topic := range img.Topics() {
		fmt.Fprintf(&got, "%s:%d ", topic.Name, len(topic.Partitions))
	}
	if want := "Mixed.Case_topic-1:1 __consumer_offsets:5 __transaction_state:3 appendtime:1 compacted:2 ledger:2 plain:3 trimmed:1 "; got.String() != want {
		t.Errorf("topics %s, want %s", got.String(), want)
	}
	if img.MetadataVersion() != 33 || img.NextProducerID() != 1000 || img.Scram("bob", 2) == nil || img.Broker(1) == nil || !img.Broker(1).Fenced {
		t.Errorf("metadata.version %d, next producer id %d, broker %+v", img.MetadataVersion(), img.NextProducerID(), img.Broker(1))
	}
	if got, want := show(folded(t, img)), show(img); got != want {
		t.Errorf("the fold of the snapshot is\n%s\nof the image\n%s", got, want)
	}
}

// topicsOf makes the records of n topics with one replica each.
func topicsOf(prefix string, n, partitions int) [][]record.Message {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(prefix)*partitions)))
	list := make([][]record.Message, n)
	for i := range list {
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], r.Uint64())
		binary.BigEndian.PutUint64(id[8:], r.Uint64())
		list[i] = append(list[i], &record.TopicRecord{Name: fmt.Sprintf("%s-%05d", prefix, i), TopicID: id})
		for p := range partitions {
			list[i] = append(list[i], &record.PartitionRecord{PartitionID: int32(p), TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1,
				Directories: [][16]byte{{1}}})
		}
	}
	return list
}

// TestMemory: 10,000 partitions are allowed 150 MB in the whole broker; the image takes less than 4 of them.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	img := Empty()
	for _, recs := range topicsOf("t", 10_000, 1) {
		for i, m := range recs { // as a log is read: nothing is shared
			recs[i], _, _ = record.Read(record.Append(nil, m, record.VersionAt(m, 33)))
		}
		img, _ = apply(t, img, recs...)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := int64(after.HeapAlloc-before.HeapAlloc) / int64(img.PartitionCount())
	if per > 600 {
		t.Errorf("%d bytes for a topic of one partition, want at most 600", per)
	}
	t.Logf("%d bytes for a topic of one partition", per)
	runtime.KeepAlive(img)
}

func BenchmarkCreateTopics(b *testing.B) {
	base := Empty()
	for _, recs := range topicsOf("base", 1000, 10) {
		base, _ = apply(b, base, recs...)
	}
	more := topicsOf("more", 1000, 1) // another seed than base by its shape
	b.Run("1000 one by one on 10000 partitions", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			img := base
			for _, recs := range more {
				img, _ = apply(b, img, recs...)
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			apply(b, base, more[0]...)
		}
	})
	b.Run("lookup", func(b *testing.B) {
		for b.Loop() {
			if base.Topic("base-00500") == nil {
				b.Fatal("not found")
			}
		}
	})
}
