package replica

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// DirReport is what DescribeLogDirs tells of one log directory.
type DirReport struct {
	Path          string
	ID            [16]byte
	Online        bool
	Total, Usable int64 // bytes of the volume, -1 unknown
	Logs          []LogReport
}

// LogReport is one log in a directory.
type LogReport struct {
	Topic     string
	Partition int32
	Size      int64
	OffsetLag int64
	Future    bool // being moved into this directory
}

// DescribeDirs reports the log directories in their configured order with the logs that want asks for, by topic and partition.
// It asks the file system for space: not for an event loop.
func (m *Manager) DescribeDirs(want func(topic string, partition int32) bool) []DirReport {
	logs := map[string][]LogReport{}
	m.Partitions(func(p *Partition) bool {
		l := p.st.Load().log
		if l == nil || !want(p.topic, p.partition) {
			return true
		}
		end := l.LogEndOffset()
		logs[l.Dir()] = append(logs[l.Dir()], LogReport{Topic: p.topic, Partition: p.partition, Size: l.Size(), OffsetLag: max(p.hw.Load()-end, 0)})
		if dir, lag, ok := m.o.Store.FutureLag(p.key()); ok {
			logs[dir] = append(logs[dir], LogReport{Topic: p.topic, Partition: p.partition, OffsetLag: lag, Future: true})
		}
		return true
	})
	var out []DirReport
	for _, d := range m.o.Store.Dirs() {
		r := DirReport{Path: d.Path, ID: d.ID, Online: d.Online, Total: d.Total, Usable: d.Usable}
		if d.Online {
			r.Logs = logs[d.Path]
			slices.SortFunc(r.Logs, func(a, b LogReport) int {
				return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
			})
		}
		out = append(out, r)
	}
	return out
}

// MoveDir starts to move the replica to another log directory of this broker; p may be nil for a partition that is not here.
func (m *Manager) MoveDir(p *Partition, dir string) error {
	at := -1
	dirs := m.o.Store.Dirs()
	for i, d := range dirs {
		if d.Path == dir {
			at = i
		}
	}
	switch {
	case at < 0:
		return kerr.LogDirNotFound
	case !dirs[at].Online:
		return kerr.KafkaStorageError
	case p == nil:
		return kerr.ReplicaNotAvailable
	}
	l := p.st.Load().log
	switch {
	case p.Role() == RoleOffline:
		return kerr.KafkaStorageError
	case l == nil:
		return kerr.ReplicaNotAvailable
	case l.Dir() == dir:
		return nil
	}
	return clientError(m.o.Store.MoveDir(p.key(), dir))
}
