package server

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// checkDirs waits until the metadata says of each partition of a topic where its log is, and gives the count by directory.
func checkDirs(t *testing.T, b *Broker, topic string) map[string]int {
	t.Helper()
	paths := map[[16]byte]string{}
	for path, id := range b.store.DirIDs() {
		paths[id] = path
	}
	count := map[string]int{}
	waitFor(t, "the directories of "+topic+" to be recorded", func() bool {
		clear(count)
		top := b.Image().Topic(topic)
		for i := range top.Partitions {
			l := b.store.Get(top.ID, int32(i))
			if top.Partitions[i].Dirs[0] != l.DirID() {
				return false
			}
			count[paths[l.DirID()]]++
		}
		return true
	})
	return count
}

// With several log directories the metadata says in which one each replica is: after creation, after a move, and after a start with what was
// moved by hand; DescribeLogDirs says the same.
func TestDirectoriesAreRecorded(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	b := startBroker(t, one, "log.dirs="+one+","+two)
	c := kgoClient(t, b)
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(testContext(t), 6, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	if got := checkDirs(t, b, "a"); got[one] != 3 || got[two] != 3 {
		t.Errorf("partitions by directory: %v, want 3 each", got)
	}
	if err := c.ProduceSync(testContext(t), &kgo.Record{Topic: "a", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	dir := kmsg.NewAlterReplicaLogDirsRequestDir()
	dir.Dir = two
	topic := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
	topic.Topic, topic.Partitions = "a", []int32{0, 1, 2, 3, 4, 5}
	dir.Topics = append(dir.Topics, topic)
	req.Dirs = append(req.Dirs, dir)
	for _, p := range request[*kmsg.AlterReplicaLogDirsResponse](t, c, req).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			t.Errorf("partition %d: code %d", p.Partition, p.ErrorCode)
		}
	}
	waitFor(t, "the partitions to move", func() bool { return checkDirs(t, b, "a")[two] == 6 })
	described, err := admin.DescribeBrokerLogDirs(testContext(t), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	described.Each(func(d kadm.DescribedLogDir) {
		if n := len(d.Topics["a"]); n != map[string]int{one: 0, two: 6}[d.Dir] {
			t.Errorf("DescribeLogDirs has %d partitions in %s", n, d.Dir)
		}
	})
	c.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		name := fmt.Sprintf("/a-%d", i)
		if err := b.o.FS.Rename(two+name, one+name); err != nil {
			t.Fatal(err)
		}
	}
	b = startBroker(t, one, "log.dirs="+one+","+two)
	if got := checkDirs(t, b, "a"); got[one] != 2 || got[two] != 4 {
		t.Errorf("after a move by hand: %v, want 2 and 4", got)
	}
}
