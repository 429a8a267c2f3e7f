package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// The checkpoint files are text: a version, a count, one entry a line.
//
//	0                      0
//	2                      1
//	topic 0 1500           3 1200
//	topic 1 20             (leader-epoch-checkpoint: epoch, start offset)
//	(topic, partition, offset)
const checkpointVersion = 0

// A CorruptFileError is a small file that cannot be what it should be.
type CorruptFileError struct {
	Path   string
	Line   int // from 1, 0 none
	Reason string
}

// Error implements error.
func (e *CorruptFileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s is corrupt at line %d: %s", e.Path, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s is corrupt: %s", e.Path, e.Reason)
}

// topicPartition is how checkpoint files name a partition.
type topicPartition struct {
	topic     string
	partition int32
}

// replaceFile writes a small file so that either the old or the new content is found after a crash: temporary file, sync, rename,
// sync of the directory.
func replaceFile(fs vfs.FS, name string, data []byte) error {
	if err := replaceFileUnsynced(fs, name, data, true); err != nil {
		return err
	}
	return fs.SyncDir(path.Dir(name))
}

// replaceFileUnsynced is replaceFile without the sync of the directory; sync says whether the content is synced.
func replaceFileUnsynced(fs vfs.FS, name string, data []byte, sync bool) (err error) {
	tmp := name + tmpSuffix
	f, err := fs.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return fs.Rename(tmp, name)
}

// checkpointLines checks version and count and gives the entries' lines.
func checkpointLines(name string, data []byte) ([]string, error) {
	text := strings.TrimSuffix(string(data), "\n")
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	if v, err := strconv.Atoi(strings.TrimSpace(lines[0])); err != nil || v != checkpointVersion {
		return nil, &CorruptFileError{name, 1, fmt.Sprintf("unknown version %q", lines[0])}
	}
	if len(lines) < 2 {
		return nil, &CorruptFileError{name, 2, "no count"}
	}
	n, err := strconv.Atoi(strings.TrimSpace(lines[1]))
	if err != nil || n != len(lines)-2 {
		return nil, &CorruptFileError{name, 2, fmt.Sprintf("count %q, but %d entries", lines[1], len(lines)-2)}
	}
	return lines[2:], nil
}

// readOffsetCheckpoint reads a topic-partition-offset file; a missing one is empty.
func readOffsetCheckpoint(fs vfs.FS, name string) (map[topicPartition]int64, error) {
	data, err := fs.ReadFile(name)
	if isNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines, err := checkpointLines(name, data)
	if err != nil {
		return nil, err
	}
	out := make(map[topicPartition]int64, len(lines))
	for i, l := range lines {
		f := strings.Fields(l)
		if len(f) != 3 {
			return nil, &CorruptFileError{name, i + 3, fmt.Sprintf("%d fields, not 3", len(f))}
		}
		p, err1 := strconv.ParseInt(f[1], 10, 32)
		off, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			return nil, &CorruptFileError{name, i + 3, "not a number"}
		}
		out[topicPartition{f[0], int32(p)}] = off
	}
	return out, nil
}

// formatOffsetCheckpoint is the content of a topic-partition-offset file, by topic and partition.
func formatOffsetCheckpoint(offsets map[topicPartition]int64) []byte {
	keys := make([]topicPartition, 0, len(offsets))
	for k := range offsets {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].topic < keys[j].topic || keys[i].topic == keys[j].topic && keys[i].partition < keys[j].partition
	})
	b := make([]byte, 0, 32*len(keys)+16)
	b = fmt.Appendf(b, "%d\n%d\n", checkpointVersion, len(keys))
	for _, k := range keys {
		b = append(b, k.topic...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(k.partition), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, offsets[k], 10)
		b = append(b, '\n')
	}
	return b
}

// metaProperties is what a log directory says about itself (version 1, KRaft).
type metaProperties struct {
	clusterID   string
	nodeID      int32
	directoryID [16]byte // zero: none
}

// readMetaProperties reads the file: an error wrapping fs.ErrNotExist when it is missing.
func readMetaProperties(fs vfs.FS, dir string) (metaProperties, error) {
	m := metaProperties{nodeID: -1}
	name := join(dir, metaPropertiesFile)
	data, err := fs.ReadFile(name)
	if err != nil {
		return m, err
	}
	version := "0"
	for i, l := range strings.Split(string(data), "\n") {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' || l[0] == '!' {
			continue
		}
		k, v, ok := strings.Cut(l, "=")
		if !ok {
			return m, &CorruptFileError{name, i + 1, "no key=value"}
		}
		v = strings.NewReplacer(`\=`, "=", `\:`, ":", `\\`, `\`).Replace(strings.TrimSpace(v))
		switch strings.TrimSpace(k) {
		case "version":
			version = v
		case "cluster.id":
			m.clusterID = v
		case "node.id", "broker.id":
			n, err := strconv.ParseInt(v, 10, 32)
			if err != nil {
				return m, &CorruptFileError{name, i + 1, "the node id is not a number"}
			}
			m.nodeID = int32(n)
		case "directory.id":
			if m.directoryID, err = parseUUID(v); err != nil {
				return m, &CorruptFileError{name, i + 1, err.Error()}
			}
		}
	}
	if version != "0" && version != "1" {
		return m, &CorruptFileError{name, 0, fmt.Sprintf("unknown version %q", version)}
	}
	return m, nil
}

// writeMetaProperties replaces the file. date is what java.util.Properties puts in its head comment.
func writeMetaProperties(fs vfs.FS, dir string, m metaProperties, date string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "#\n#%s\nnode.id=%d\ndirectory.id=%s\nversion=1\ncluster.id=%s\n", date, m.nodeID, uuidString(m.directoryID), m.clusterID)
	return replaceFile(fs, join(dir, metaPropertiesFile), []byte(b.String()))
}

// readPartitionMetadata reads a topic's id from a partition's directory: ok is false when the file is missing or empty.
func readPartitionMetadata(fs vfs.FS, dir string) (id TopicID, ok bool, err error) {
	name := join(dir, partitionMetadataFile)
	data, err := fs.ReadFile(name)
	if isNotExist(err) {
		return id, false, nil
	}
	if err != nil {
		return id, false, err
	}
	for _, l := range strings.Split(string(data), "\n") {
		k, v, _ := strings.Cut(l, ":")
		switch strings.TrimSpace(k) {
		case "version":
			if strings.TrimSpace(v) != "0" {
				return id, false, &CorruptFileError{name, 1, fmt.Sprintf("unknown version %q", v)}
			}
		case "topic_id":
			if id, err = parseUUID(strings.TrimSpace(v)); err != nil {
				return id, false, &CorruptFileError{name, 2, err.Error()}
			}
			ok = true
		}
	}
	return id, ok, nil
}

// writePartitionMetadata makes the file; the log's first flush syncs it.
func writePartitionMetadata(fs vfs.FS, dir string, id TopicID) error {
	return fs.WriteFile(join(dir, partitionMetadataFile), []byte("version: 0\ntopic_id: "+uuidString(id)))
}

// noBrokerEpoch is what .kafka_cleanshutdown says when the epoch is not known.
const noBrokerEpoch = -1

// segmentEnd is a log's last segment and its length, by which a start sees that the .log is as it was left.
type segmentEnd struct{ base, size int64 }

// cleanShutdown is the marker of a clean stop. The segments are kaja's: Kafka passes over fields that it does not know, and removes the
// marker, so that they are never old.
type cleanShutdown struct {
	Version     int                 `json:"version"`
	Segments    map[string][2]int64 `json:"activeSegments,omitempty"` // topic-partition → base offset, bytes
	BrokerEpoch int64               `json:"brokerEpoch"`
}

// segment tells how the last segment of a log was left; nil when it is not known.
func (c *cleanShutdown) segment(label string) *segmentEnd {
	if e, ok := c.Segments[label]; ok {
		return &segmentEnd{e[0], e[1]}
	}
	return nil
}

// writeCleanShutdown makes the marker of a clean stop.
func writeCleanShutdown(fs vfs.FS, dir string, c cleanShutdown) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return replaceFile(fs, join(dir, cleanShutdownFile), data)
}

// readCleanShutdown tells whether the marker is there and what it says; one that cannot be understood says nothing.
func readCleanShutdown(fs vfs.FS, dir string) (clean bool, c cleanShutdown, err error) {
	unknown := cleanShutdown{BrokerEpoch: noBrokerEpoch}
	data, err := fs.ReadFile(join(dir, cleanShutdownFile))
	if isNotExist(err) {
		return false, unknown, nil
	}
	if err != nil {
		return false, unknown, err
	}
	c = unknown
	if json.Unmarshal(data, &c) != nil {
		c = unknown
	}
	return true, c, nil
}
