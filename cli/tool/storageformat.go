package tool

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata/record"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// metaFile is what a data directory says about itself, version 1.
const metaFile = "meta.properties"

// storageDirs are the directories of a configuration, sorted: which are formatted, and what they say.
type storageDirs struct {
	all   []string
	metas map[string]clientProperties
}

// loadConfig reads a server.properties.
func (e *Env) loadConfig(name string) (*config.Static, error) {
	data, err := e.FS.ReadFile(name)
	if err != nil {
		return nil, &exception{classNoSuchFile, name}
	}
	cfg, _, err := config.Load(config.Sources{FileName: name, File: data})
	if err != nil {
		return nil, &exception{classConfig, err.Error()}
	}
	return cfg, nil
}

// storageDirs looks at the data directories and, if it lies elsewhere, that of the metadata.
func (e *Env) storageDirs(cfg *config.Static) (storageDirs, error) {
	d := storageDirs{all: slices.Clone(cfg.LogDirs()), metas: map[string]clientProperties{}}
	if !slices.Contains(d.all, cfg.MetadataLogDir()) {
		d.all = append(d.all, cfg.MetadataLogDir())
	}
	slices.Sort(d.all)
	for _, dir := range d.all {
		data, err := e.FS.ReadFile(path.Join(dir, metaFile))
		switch {
		case errors.Is(err, fs.ErrNotExist) || notADirectory(e, dir):
			continue
		case err != nil:
			return d, thrown(classIO, "%s", err)
		}
		if d.metas[dir], err = javaProperties(data); err != nil {
			return d, err
		}
	}
	return d, nil
}

func notADirectory(e *Env, dir string) bool {
	info, err := e.FS.Stat(dir)
	return err == nil && !info.IsDir()
}

// storageFormatter formats the directories of a node. A node's first start formats by itself what is not formatted, so this fixes the cluster's id
// and, where they were asked for, what the cluster begins with.
type storageFormatter struct {
	e         *Env
	cfg       *config.Static
	clusterID string
	release   metadataRelease
	levels    map[string]int16 // of features that were named
	scram     []*record.UserScramCredentialRecord
	dynamic   bool // begins as the only controller, or without any
	voter     bool
	ignore    bool // formatted directories are left as they are
	custom    bool // it begins with something else than a start would write
}

// records are what the cluster begins with.
func (f *storageFormatter) records() []record.Message {
	metadata := record.NewFeatureLevelRecord()
	metadata.Name, metadata.FeatureLevel = metadataFeature, f.release.level
	list := []record.Message{metadata}
	features := clusterFeatures()
	slices.SortFunc(features, func(a, b clusterFeature) int { return strings.Compare(a.name, b.name) })
	for _, feature := range features {
		level, given := f.levels[feature.name]
		if !given {
			level = feature.at(f.release.level)
		}
		if level == 0 || feature.name == "kraft.version" {
			continue
		}
		r := record.NewFeatureLevelRecord()
		r.Name, r.FeatureLevel = feature.name, level
		list = append(list, r)
	}
	for _, s := range f.scram {
		list = append(list, s)
	}
	return list
}

func (f *storageFormatter) run() error {
	dirs, err := f.e.storageDirs(f.cfg)
	if err != nil {
		return err
	}
	if err := f.check(dirs); err != nil {
		return err
	}
	var fresh []string
	for _, dir := range dirs.all {
		if dirs.metas[dir] == nil {
			fresh = append(fresh, dir)
		}
	}
	if len(fresh) == 0 {
		f.e.println("All of the log directories are already formatted.")
		return nil
	}
	records := f.records()
	f.e.printf("Bootstrap metadata: BootstrapMetadata(records=[%s], metadataVersionLevel=%d, source=format command)\n",
		joined(records, ", ", bootstrapText), f.release.level)
	for _, dir := range javaStringOrder(fresh) {
		kind := "data directory"
		if dir == f.cfg.MetadataLogDir() {
			kind = map[bool]string{false: "metadata directory", true: "dynamic metadata directory"}[f.dynamic]
			if f.voter {
				kind = "dynamic metadata voter directory"
			}
		}
		f.e.printf("Formatting %s %s with %s %s.\n", kind, dir, metadataFeature, f.release.name)
		if err := f.formatDir(dir, records); err != nil {
			return thrown(classIO, "cannot format %s: %s", dir, err)
		}
	}
	return nil
}

// check refuses what cannot be honoured: nothing is formatted halfway.
func (f *storageFormatter) check(dirs storageDirs) error {
	for _, dir := range dirs.all {
		if m := dirs.metas[dir]; m != nil && m["cluster.id"] != f.clusterID {
			return thrown(classRuntime, "Invalid cluster.id in: %s. Expected %s, but read %s", path.Join(dir, metaFile), f.clusterID, m["cluster.id"])
		}
	}
	if len(dirs.metas) == 0 || f.ignore {
		return nil
	}
	var formatted []string
	for _, dir := range dirs.all {
		if dirs.metas[dir] != nil {
			formatted = append(formatted, dir)
		}
	}
	return &terseError{fmt.Sprintf("Log directory %s is already formatted. Use --ignore-formatted to ignore this directory and format the others.", javaStringOrder(formatted)[0])}
}

// bootstrapText is a record as Java prints it.
func bootstrapText(m record.Message) string {
	switch r := m.(type) {
	case *record.FeatureLevelRecord:
		return fmt.Sprintf("ApiMessageAndVersion(FeatureLevelRecord(name='%s', featureLevel=%d) at version 0)", r.Name, r.FeatureLevel)
	case *record.UserScramCredentialRecord:
		return fmt.Sprintf("ApiMessageAndVersion(UserScramCredentialRecord(name='%s', mechanism=%d, salt=%s, storedKey=%s, serverKey=%s, iterations=%d) at version 0)",
			r.Name, r.Mechanism, javaBytes(r.Salt), javaBytes(r.StoredKey), javaBytes(r.ServerKey), r.Iterations)
	}
	return ""
}

// javaBytes is Arrays.toString.
func javaBytes(b []byte) string {
	return "[" + joined(b, ", ", func(c byte) string { return strconv.Itoa(int(int8(c))) }) + "]"
}

// formatDir writes meta.properties so that it is there whole or not at all, after what the cluster begins with.
func (f *storageFormatter) formatDir(dir string, records []record.Message) error {
	if err := f.e.FS.MkdirAll(dir); err != nil {
		return err
	}
	if f.custom && dir == f.cfg.MetadataLogDir() {
		if err := f.writeSnapshot(path.Join(dir, "__cluster_metadata-0"), records); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("#\n#%s\nnode.id=%d\ndirectory.id=%s\nversion=1\ncluster.id=%s\n", f.e.Clock.Wall().UTC().Format("Mon Jan 02 15:04:05 UTC 2006"),
		f.cfg.NodeID(), randomUUID(), f.clusterID)
	return f.writeWhole(dir, metaFile, []byte(text))
}

func (f *storageFormatter) writeWhole(dir, name string, data []byte) error {
	tmp := path.Join(dir, name+".tmp")
	file, err := f.e.FS.Create(tmp)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, 0)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := f.e.FS.Rename(tmp, path.Join(dir, name)); err != nil {
		return err
	}
	return f.e.FS.SyncDir(dir)
}

// bootstrapSnapshot is the snapshot that a new metadata log begins with.
const bootstrapSnapshot = "00000000000000000000-0000000000.checkpoint"

// writeSnapshot writes the records as the first snapshot of the metadata log: a header, the records, a footer, as Kafka's.
func (f *storageFormatter) writeSnapshot(dir string, records []record.Message) error {
	now := f.e.Clock.Wall().UnixMilli()
	if err := f.e.FS.MkdirAll(dir); err != nil {
		return err
	}
	head := batch.ControlBatch{BaseTimestamp: now, ProducerID: batch.NoProducerID, ProducerEpoch: batch.NoProducerEpoch}
	header := record.NewSnapshotHeaderRecord()
	header.LastContainedLogTimestamp = now
	data := batch.AppendControl(nil, head, batch.AppendControlKey(nil, batch.ControlSnapshotHeader), header.AppendTo(nil, 0))
	b := batch.NewBuilder(data, batch.PlainOptions(1, 0))
	for i, r := range records {
		b.Append(int64(1+i), now, nil, record.Append(nil, r, 0))
	}
	data, err := b.Finish()
	if err != nil {
		return err
	}
	head.BaseOffset = int64(1 + len(records))
	data = batch.AppendControl(data, head, batch.AppendControlKey(nil, batch.ControlSnapshotFooter), record.NewSnapshotFooterRecord().AppendTo(nil, 0))
	return f.writeWhole(dir, bootstrapSnapshot, data)
}

// storageInfo says what the directories of a configuration are; false if something is wrong with them.
func (e *Env) storageInfo(cfg *config.Static) (bool, error) {
	dirs, err := e.storageDirs(cfg)
	if err != nil {
		return false, err
	}
	var found, problems []string
	meta, metaOf := "", ""
	for _, dir := range dirs.all {
		_, err := e.FS.Stat(dir)
		switch {
		case err != nil:
			problems = append(problems, dir+" does not exist")
			continue
		case notADirectory(e, dir):
			problems = append(problems, dir+" is not a directory")
			continue
		}
		found = append(found, dir)
		m := dirs.metas[dir]
		if m == nil {
			problems = append(problems, dir+" is not formatted.")
			continue
		}
		text := fmt.Sprintf("{cluster.id=%s, directory.id=%s, node.id=%s, version=%s}", m["cluster.id"], m["directory.id"], m["node.id"], m["version"])
		if meta == "" {
			meta, metaOf = text, dir
		} else if first := dirs.metas[metaOf]; first["cluster.id"] != m["cluster.id"] || first["node.id"] != m["node.id"] {
			problems = append(problems, fmt.Sprintf("Metadata for %s was %s, but other directories featured %s", path.Join(dir, metaFile), text, meta))
		}
	}
	e.storageSection("Found log director", "y:", "ies:", found)
	if meta != "" {
		e.printf("Found metadata: %s\n\n", meta)
	}
	e.storageSection("Found problem", ":", "s:", problems)
	return len(problems) == 0, nil
}

func (e *Env) storageSection(title, one, many string, lines []string) {
	switch len(lines) {
	case 0:
		return
	case 1:
		title += one
	default:
		title += many
	}
	e.printf("%s\n  %s\n\n", title, strings.Join(lines, "\n  "))
}

// randomUUID is Kafka's Uuid.randomUuid: 16 bytes in URL base64 without padding, never beginning with a dash, which tools would take
// for an option.
func randomUUID() string {
	for {
		var b [16]byte
		_, _ = rand.Read(b[:])               // never fails (crypto/rand)
		b[6], b[8] = b[6]&15|64, b[8]&63|128 // version 4, as java.util.UUID
		if s := base64.RawURLEncoding.EncodeToString(b[:]); s[0] != '-' {
			return s
		}
	}
}
