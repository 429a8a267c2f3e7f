package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/kaja-mq/kaja/config"
)

// checkConfig reads a server.properties as the start does, with the environment; nil if it would not start.
func (d *doctor) checkConfig(file string) *config.Static {
	src := config.Sources{FileName: file, Env: d.p.Env}
	what := "the environment"
	if file != "" {
		what = file
		var err error
		if src.File, err = d.p.FS.ReadFile(file); err != nil {
			d.fail("cannot read the configuration: "+err.Error(), "give the path of a server.properties that this user may read")
			return nil
		}
	}
	cfg, warnings, err := config.Load(src)
	if err != nil {
		found, do, _ := strings.Cut(err.Error(), "; ")
		d.fail("the broker would not start: "+found, do)
		return nil
	}
	for _, w := range warnings {
		d.warn(w, "")
	}
	d.ok("%s can be started with", what)
	return cfg
}

// configuredByEnvironment tells whether the environment says what a broker does, as it does inside containers.
func (d *doctor) configuredByEnvironment() bool {
	cfg, _, err := config.Load(config.Sources{Env: d.p.Env})
	return err != nil || !cfg.DefaultMode()
}

// checkMachine looks at what a broker needs of this machine.
func (d *doctor) checkMachine(cfg *config.Static) {
	d.checkClock()
	if cfg == nil {
		return
	}
	partitions := 0
	for _, dir := range cfg.LogDirs() {
		partitions += d.checkDir(dir, cfg)
	}
	d.checkOpenFiles(partitions)
}

// firstPlausibleYear: an earlier date is that of a machine whose clock was never set.
const firstPlausibleYear = 2025

func (d *doctor) checkClock() {
	if now := d.p.Clock.Wall(); now.Year() < firstPlausibleYear {
		d.fail("the clock says "+now.UTC().Format("2006-01-02")+", which is long past", "set the clock: records would be written with that time")
		return
	}
	d.ok("the clock has been set")
}

// checkDir looks at a data directory and counts the partitions in it.
func (d *doctor) checkDir(dir string, cfg *config.Static) (partitions int) {
	what := "data directory " + dir
	found := dir
	for { // the nearest that exists: the start makes the rest
		info, err := d.p.FS.Stat(found)
		if err == nil {
			if !info.IsDir() {
				d.fail(what+": "+found+" is no directory", "remove it, or set log.dirs to another place")
				return 0
			}
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			d.fail(what+": "+err.Error(), "let the user that runs the broker get there")
			return 0
		}
		if up := path.Dir(found); up != found {
			found = up
			continue
		}
		break
	}
	if !d.checkWritable(what, found) {
		return 0
	}
	if total, usable, err := d.p.FS.Space(found); err == nil {
		d.checkSpace(what, total, usable)
	}
	d.checkVolume(what, found)
	if found != dir {
		d.ok("%s will be made by the start", what)
		return 0
	}
	d.checkOwner(what, dir, cfg)
	entries, err := d.p.FS.ReadDir(dir)
	if err != nil {
		d.fail(what+": "+err.Error(), "let the user that runs the broker read it")
		return 0
	}
	for _, e := range entries {
		if _, n, ok := cutNumber(e.Name()); e.IsDir() && ok && n >= 0 {
			partitions++
		}
	}
	return partitions
}

// cutNumber takes topic-12 apart.
func cutNumber(name string) (topic string, n int, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(name[i+1:])
	return name[:i], n, err == nil
}

// probeFile is made and removed to see whether one can write.
const probeFile = ".kaja-doctor"

func (d *doctor) checkWritable(what, dir string) bool {
	name := path.Join(dir, probeFile)
	err := d.p.FS.WriteFile(name, nil)
	if err == nil {
		err = d.p.FS.Remove(name)
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, syscall.EROFS):
		d.fail(what+": the file system is read-only", "mount it for writing, or set log.dirs to another place")
	case errors.Is(err, fs.ErrPermission):
		d.fail(what+": this user may not write to "+dir, "give the directory to the user that runs the broker (chown), for a container's volume to the user in the image; or set log.dirs to another place")
	case errors.Is(err, syscall.ENOSPC):
		d.fail(what+": the disk is full", "make room")
	default:
		d.fail(what+": "+err.Error(), "set log.dirs to a place that can be written")
	}
	return false
}

// checkVolume warns of file systems that do not keep data as a broker's data should be.
func (d *doctor) checkVolume(what, dir string) {
	kind := mountKind(d.p.FS.ReadFile, dir)
	switch {
	case kind == "tmpfs" || kind == "ramfs":
		d.warn(what+" is in memory ("+kind+"): it is gone with the next restart of the machine or container", "set log.dirs to a disk, unless that is what you want")
	case kind == "overlay" || kind == "aufs":
		d.warn(what+" is in a container's own layer ("+kind+"): it is gone when the container is removed", "mount a volume there (-v NAME:"+dir+"), unless that is what you want")
	case strings.HasPrefix(kind, "nfs") || kind == "cifs" || kind == "smb3" || strings.HasPrefix(kind, "fuse"):
		d.warn(what+" is on a network file system ("+kind+"): slow, and what is synced may still be lost", "use a local disk or a block device")
	}
}

// mountKind is the type of the file system that holds a directory; "" unknown.
func mountKind(read func(string) ([]byte, error), dir string) (kind string) {
	text, err := read("/proc/self/mounts")
	if err != nil || !path.IsAbs(dir) {
		return ""
	}
	longest := -1
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line) // device, mount point, type, options …
		if len(f) < 3 {
			continue
		}
		point := strings.ReplaceAll(f[1], `\040`, " ")
		if (point == "/" || dir == point || strings.HasPrefix(dir, point+"/")) && len(point) >= longest {
			longest, kind = len(point), f[2]
		}
	}
	return kind
}

// checkOwner compares meta.properties with the settings.
func (d *doctor) checkOwner(what, dir string, cfg *config.Static) {
	text, err := d.p.FS.ReadFile(path.Join(dir, "meta.properties"))
	if err != nil {
		return // not formatted yet
	}
	meta := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			meta[k] = v
		}
	}
	if id := meta["node.id"]; id != "" && id != strconv.Itoa(int(cfg.NodeID())) {
		d.fail(fmt.Sprintf("%s belongs to node %s, the settings say %d", what, id, cfg.NodeID()), "set node.id="+id+", or log.dirs to the directory of node "+strconv.Itoa(int(cfg.NodeID())))
	}
	if id := cfg.ClusterID(); id != "" && meta["cluster.id"] != "" && meta["cluster.id"] != id {
		d.fail(fmt.Sprintf("%s belongs to cluster %s, the environment says %s", what, meta["cluster.id"], id), "remove CLUSTER_ID, or use an empty directory (a container's old volume?)")
	}
}

// Open files: a broker with few clients needs some hundreds; each partition in use takes about three, each connection one.
const (
	fewFiles          = 4096
	tooFewFiles       = 512
	filesPerPartition = 3
)

func (d *doctor) checkOpenFiles(partitions int) {
	limit := d.openFiles()
	need := max(fewFiles, partitions*filesPerPartition+1000)
	const do = "raise it: ulimit -n 100000, LimitNOFILE= in systemd, --ulimit nofile= for a container"
	switch {
	case limit == 0:
	case limit < tooFewFiles:
		d.fail(fmt.Sprintf("only %d files may be open at a time", limit), do)
	case limit < need:
		d.warn(fmt.Sprintf("only %d files may be open at a time; %d would be comfortable for %s and some clients", limit, need, plural(partitions, "partition")), do)
	case limit >= 1<<30:
		d.ok("any number of files may be open")
	default:
		d.ok("%d files may be open at a time", limit)
	}
}

// checkPorts sees whether the listeners can be opened, unless a broker runs on them, and whether the advertised names are known.
func (d *doctor) checkPorts(ctx context.Context, cfg *config.Static, running bool) {
	for _, l := range cfg.Listeners() {
		if running || l.Port == 0 {
			continue
		}
		var lc net.ListenConfig
		ln, err := lc.Listen(ctx, "tcp", l.Addr())
		switch {
		case err == nil:
			_ = ln.Close() // it has told what it can
			d.ok("listener %s can be opened on %s", l.Name, l.Addr())
		case errors.Is(err, syscall.EADDRINUSE):
			d.fail("listener "+l.Name+": another program has "+l.Addr(), "stop it, or set another port in listeners")
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			d.fail("listener "+l.Name+": this machine has no address "+l.Host, "correct listeners; to listen on all addresses leave the host out ("+l.Name+"://:"+strconv.Itoa(l.Port)+")")
		case errors.Is(err, fs.ErrPermission):
			d.fail("listener "+l.Name+": this user may not open port "+strconv.Itoa(l.Port), "use a port above 1023")
		default:
			d.fail("listener "+l.Name+": "+err.Error(), "correct listeners")
		}
	}
	for _, a := range cfg.Advertised() {
		switch {
		case a.Auto || a.Host == "":
		case isLoopback(a.Host):
			d.warn(fmt.Sprintf("listener %s advertises %s: only clients on this machine can connect", a.Name, a.Host), "for others set advertised.listeners to a name or address that they can reach, or to auto")
		case net.ParseIP(a.Host) == nil:
			d.checkName(ctx, a.Host, "listener "+a.Name+" advertises")
		}
	}
}
