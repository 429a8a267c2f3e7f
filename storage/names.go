package storage

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// File and directory names, all Kafka's.
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	deletedSuffix   = ".deleted" // a file that waits for file.delete.delay.ms
	cleanedSuffix   = ".cleaned" // written by a cleaner pass that did not end
	swapSuffix      = ".swap"    // written by a cleaner pass that ended; to be renamed
	tmpSuffix       = ".tmp"     // a small file being replaced

	deleteDirSuffix = "-delete"
	futureDirSuffix = "-future"
	strayDirSuffix  = "-stray"

	metaPropertiesFile    = "meta.properties"
	lockFile              = ".lock"
	cleanShutdownFile     = ".kafka_cleanshutdown"
	recoveryPointFile     = "recovery-point-offset-checkpoint"
	logStartFile          = "log-start-offset-checkpoint"
	highWatermarkFile     = "replication-offset-checkpoint"
	cleanerCheckpointFile = "cleaner-offset-checkpoint"
	epochCheckpointFile   = "leader-epoch-checkpoint"
	partitionMetadataFile = "partition.metadata"

	metadataTopic = "__cluster_metadata"

	maxFileName = 255 // NAME_MAX of every file system that matters
)

// segmentName is the file of a segment, by its base offset.
func segmentName(base int64, suffix string) string {
	var b [offsetDigits]byte
	for i := range b {
		b[i] = '0'
	}
	var d [offsetDigits]byte
	s := strconv.AppendInt(d[:0], base, 10)
	copy(b[offsetDigits-len(s):], s)
	return string(b[:]) + suffix
}

// parseSegmentName is the reverse of segmentName.
func parseSegmentName(name string) (base int64, suffix string, ok bool) {
	digits, rest, found := strings.Cut(name, ".")
	if !found || len(digits) != offsetDigits {
		return 0, "", false
	}
	base, err := strconv.ParseInt(digits, 10, 64)
	return base, "." + rest, err == nil && base >= 0
}

// dirName is the directory of a partition: topic-partition.
func dirName(topic string, partition int32) string {
	return topic + "-" + strconv.Itoa(int(partition))
}

// dirNameWithSuffix is topic-partition.uuid-suffix; a long topic name is cut, as only the uuid matters.
func dirNameWithSuffix(topic string, partition int32, id [16]byte, suffix string) string {
	end := "-" + strconv.Itoa(int(partition)) + "." + hex.EncodeToString(id[:]) + suffix
	if n := maxFileName - len(end); len(topic) > n {
		topic = topic[:n]
	}
	return topic + end
}

// parsedDir is what a directory's name tells.
type parsedDir struct {
	topic     string
	partition int32
	suffix    string // "", -delete, -future, -stray
}

// parseDirName takes a partition's directory name apart.
func parseDirName(name string) (parsedDir, bool) {
	p := parsedDir{}
	for _, s := range []string{deleteDirSuffix, futureDirSuffix, strayDirSuffix} {
		if rest, ok := strings.CutSuffix(name, s); ok {
			dot := strings.LastIndexByte(rest, '.')
			if dot < 0 {
				continue
			}
			name, p.suffix = rest[:dot], s
			break
		}
	}
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 || dash == len(name)-1 {
		return p, false
	}
	n, err := strconv.ParseInt(name[dash+1:], 10, 32)
	if err != nil || n < 0 {
		return p, false
	}
	p.topic, p.partition = name[:dash], int32(n)
	return p, true
}

// uuidString is an id in Kafka's spelling: URL-safe base64 without padding.
func uuidString(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// parseUUID is the reverse of uuidString.
func parseUUID(s string) (id [16]byte, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is not an id of 22 base64 characters", s)
	}
	return [16]byte(b), nil
}

func join(dir, name string) string { return path.Join(dir, name) }
