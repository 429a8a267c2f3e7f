package cli

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/magiconair/properties"
	"github.com/spf13/cobra"

	"github.com/kaja-mq/kaja/config"
)

// formatOptions are the arguments of Kafka's kafka-storage format.
type formatOptions struct {
	config, clusterID, release  string
	scram, features             []string
	ignoreFormatted, standalone bool
	noControllers               bool
	controllers                 string
}

// storageCommand is Kafka's kafka-storage for scripts that run it. kaja formats by itself at its first start, so this only fixes
// the cluster's id beforehand; the first metadata snapshot is written by the start.
func (p *Process) storageCommand() *cobra.Command {
	c := &cobra.Command{Use: "kafka-storage", Short: "Format data directories, as Kafka's kafka-storage does (not needed: the first start does it)", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("kafka-storage needs one of format, info, random-uuid")}
		}}
	var o formatOptions
	format := &cobra.Command{Use: "format", Short: "Format the data directories of a configuration", Args: noArguments, RunE: func(c *cobra.Command, _ []string) error {
		return p.format(c.OutOrStdout(), o)
	}}
	f := format.Flags()
	f.StringVarP(&o.config, "config", "c", "", "the server.properties")
	f.StringVarP(&o.clusterID, "cluster-id", "t", "", "the id of the cluster (see random-uuid)")
	f.StringArrayVarP(&o.scram, "add-scram", "S", nil, "a SCRAM credential to begin with")
	f.BoolVarP(&o.ignoreFormatted, "ignore-formatted", "g", false, "pass over directories that are formatted already")
	f.StringVarP(&o.release, "release-version", "r", "", "metadata.version to begin with")
	f.StringArrayVarP(&o.features, "feature", "f", nil, "level of a feature to begin with, as feature=level")
	f.BoolVarP(&o.standalone, "standalone", "s", false, "begin as the only controller")
	f.BoolVarP(&o.noControllers, "no-initial-controllers", "N", false, "begin without controllers")
	f.StringVarP(&o.controllers, "initial-controllers", "I", "", "controllers to begin with, as id@host:port:directory")
	var infoConfig string
	info := &cobra.Command{Use: "info", Short: "Show the data directories of a configuration", Args: noArguments, RunE: func(c *cobra.Command, _ []string) error {
		return p.storageInfo(c.OutOrStdout(), infoConfig)
	}}
	info.Flags().StringVarP(&infoConfig, "config", "c", "", "the server.properties")
	uuid := &cobra.Command{Use: "random-uuid", Short: "Print a random id for a cluster", Args: noArguments, RunE: func(c *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(c.OutOrStdout(), randomUUID())
		return err
	}}
	c.AddCommand(format, info, uuid)
	for _, s := range c.Commands() {
		s.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	}
	return c
}

// check refuses what cannot be honoured: nothing is formatted halfway.
func (o formatOptions) check() error {
	switch {
	case o.config == "":
		return usageError{errors.New("argument --config/-c is required")}
	case o.clusterID == "":
		return usageError{errors.New("argument --cluster-id/-t is required; make one with kafka-storage random-uuid")}
	case len(o.scram) > 0:
		return errors.New("--add-scram is not supported yet; create the user with kafka-configs once the broker runs")
	case o.release != "" && o.release != "4.4" && o.release != "4.4-IV2":
		return fmt.Errorf("--release-version %s is not supported; leave it out to begin at 4.4-IV2", o.release)
	case len(o.features) > 0:
		return errors.New("--feature is not supported; change levels with kafka-features once the broker runs")
	case o.controllers != "":
		return errors.New("--initial-controllers is not supported; use controller.quorum.voters")
	}
	return nil
}

func (p *Process) loadFile(name string) (*config.Static, error) {
	data, err := p.FS.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	cfg, _, err := config.Load(config.Sources{FileName: name, File: data})
	return cfg, err
}

func (p *Process) format(out io.Writer, o formatOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	cfg, err := p.loadFile(o.config)
	if err != nil {
		return err
	}
	var fresh []string
	for _, dir := range allDirs(cfg) {
		m, err := p.metaOf(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fresh = append(fresh, dir)
		case err != nil:
			return err
		case m["cluster.id"] != o.clusterID:
			return fmt.Errorf("invalid cluster.id in: %s. Expected %s, but read %s", path.Join(dir, metaFile), o.clusterID, m["cluster.id"])
		case !o.ignoreFormatted:
			return fmt.Errorf("log directory %s is already formatted; use --ignore-formatted to leave it as it is", dir)
		}
	}
	if len(fresh) == 0 {
		_, err = fmt.Fprintln(out, "All of the log directories are already formatted.")
		return err
	}
	for _, dir := range fresh {
		if err := p.formatDir(dir, cfg.NodeID(), o.clusterID); err != nil {
			return fmt.Errorf("cannot format %s: %w", dir, err)
		}
		if _, err := fmt.Fprintf(out, "Formatting %s with metadata.version 4.4-IV2.\n", dir); err != nil {
			return err
		}
	}
	return nil
}

// allDirs are the data directories and, if it lies elsewhere, that of the metadata.
func allDirs(cfg *config.Static) []string {
	dirs := append([]string(nil), cfg.LogDirs()...)
	for _, d := range dirs {
		if d == cfg.MetadataLogDir() {
			return dirs
		}
	}
	return append(dirs, cfg.MetadataLogDir())
}

// metaFile is what a data directory says about itself, version 1.
const metaFile = "meta.properties"

func (p *Process) metaOf(dir string) (map[string]string, error) {
	data, err := p.FS.ReadFile(path.Join(dir, metaFile))
	if err != nil {
		return nil, err
	}
	l := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	props, err := l.LoadBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%s is broken: %w", path.Join(dir, metaFile), err)
	}
	return props.Map(), nil
}

// formatDir writes meta.properties so that it is there whole or not at all.
func (p *Process) formatDir(dir string, nodeID int32, clusterID string) error {
	if err := p.FS.MkdirAll(dir); err != nil {
		return err
	}
	text := fmt.Sprintf("#\n#%s\nnode.id=%d\ndirectory.id=%s\nversion=1\ncluster.id=%s\n", p.Clock.Wall().UTC().Format("Mon Jan 02 15:04:05 UTC 2006"), nodeID, randomUUID(), clusterID)
	tmp := path.Join(dir, metaFile+".tmp")
	f, err := p.FS.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := p.FS.Rename(tmp, path.Join(dir, metaFile)); err != nil {
		return err
	}
	return p.FS.SyncDir(dir)
}

func (p *Process) storageInfo(out io.Writer, name string) error {
	if name == "" {
		return usageError{errors.New("argument --config/-c is required")}
	}
	cfg, err := p.loadFile(name)
	if err != nil {
		return err
	}
	var found, missing []string
	meta := ""
	for _, dir := range allDirs(cfg) {
		m, err := p.metaOf(dir)
		if err != nil {
			missing = append(missing, dir)
			continue
		}
		found = append(found, dir)
		if meta == "" {
			meta = fmt.Sprintf("{cluster.id=%s, directory.id=%s, node.id=%s, version=%s}", m["cluster.id"], m["directory.id"], m["node.id"], m["version"])
		}
	}
	var b strings.Builder
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s\n  %s\n\n", title, strings.Join(lines, "\n  "))
		}
	}
	section("Found log directories:", found)
	if meta != "" {
		fmt.Fprintf(&b, "Found metadata: %s\n\n", meta)
	}
	section("Found problem: these directories are not formatted:", missing)
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is not formatted; the first start formats it", missing[0])
	}
	return nil
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
