package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/protocol/batch"
)

// dumpOptions are what kafka-dump-log was asked.
type dumpOptions struct {
	files                     []string
	print, deep, skipMetadata bool
	verifyOnly, sanityOnly    bool
	maxMessageSize, maxBytes  int
	decoder                   string // family of the records, "" for plain ones
	keyDecoder, valueDecoder  string
}

// offsetPairs are pairs of numbers by file, in the order in which the files came.
type offsetPairs struct {
	files []string
	pairs map[string][][2]int64
}

func (p *offsetPairs) add(file string, a, b int64) {
	if p.pairs == nil {
		p.pairs = map[string][][2]int64{}
	}
	if _, ok := p.pairs[file]; !ok {
		p.files = append(p.files, file)
	}
	p.pairs[file] = append(p.pairs[file], [2]int64{a, b})
}

// print writes each file's title and a line per pair, as the format has it.
func (p *offsetPairs) print(out io.Writer, title, format string) {
	for _, f := range p.files {
		fmt.Fprintf(out, title, f)
		for _, pair := range p.pairs[f] {
			fmt.Fprintf(out, format, pair[0], pair[1])
		}
	}
}

// sorted puts the pairs in the order of a TreeMap: by their first number, of several with one the last; descending if want is negative.
func (p *offsetPairs) sorted(want int) {
	for f, pairs := range p.pairs {
		byFirst := map[int64]int64{}
		for _, pair := range pairs {
			byFirst[pair[0]] = pair[1]
		}
		pairs = pairs[:0]
		for a, b := range byFirst {
			pairs = append(pairs, [2]int64{a, b})
		}
		slices.SortFunc(pairs, func(a, b [2]int64) int {
			if a[0] < b[0] {
				return -want
			}
			return want
		})
		p.pairs[f] = pairs
	}
}

// dumper prints files of a log.
type dumper struct {
	fs     vfs.FS
	dir    string // relative names are meant from here
	o      dumpOptions
	out    *bufio.Writer
	err    io.Writer
	parser recordParser
	tables *schemas
	reader batch.Reader
	line   []byte
	last   int64 // offset of the record before

	mismatches, gaps                 offsetPairs
	wrongTimes, outOfOrder, notFound offsetPairs
}

func (d *dumper) schemas() *schemas {
	if d.tables == nil {
		d.tables = loadSchemas()
	}
	return d.tables
}

// run prints all files, then what was found wrong; an exception ends it at once.
func (d *dumper) run() error {
	defer d.reader.Close()
	for _, name := range d.o.files {
		name = javaPath(name)
		fmt.Fprintf(d.out, "Dumping %s\n", name)
		if err := d.dump(name); err != nil {
			return err
		}
	}
	d.mismatches.sorted(-1)
	d.mismatches.print(d.err, "Mismatches in :%s\n", "  Index offset: %d, log offset: %d\n")
	d.wrongTimes.print(d.err, "Found timestamp mismatch in :%s\n", "  Index timestamp: %d, log timestamp: %d\n")
	d.outOfOrder.print(d.err, "Found out of order timestamp in :%s\n", "  Index timestamp: %d, Previously indexed timestamp: %d\n")
	d.notFound.print(d.err, "The following indexed offsets are not found in :%s\n", "Indexed offset: %d, found log offset: %d\n")
	d.gaps.sorted(1)
	d.gaps.print(d.err, "Non-consecutive offsets in %s\n", "  %d is followed by %d\n")
	return nil
}

func (d *dumper) dump(name string) error {
	base := path.Base(name)
	switch base[max(0, strings.LastIndexByte(base, '.')):] {
	case ".log", ".checkpoint":
		return d.dumpLog(name)
	case ".index":
		return d.dumpIndex(name)
	case ".timeindex":
		return d.dumpTimeIndex(name)
	case ".snapshot":
		return d.dumpSnapshot(name)
	case ".txnindex":
		return d.dumpTxnIndex(name)
	}
	fmt.Fprintf(d.err, "Ignoring unknown file %s\n", name)
	return nil
}

// javaPath is new File(name).getPath(): without double and last slashes.
func javaPath(name string) string {
	for strings.Contains(name, "//") {
		name = strings.ReplaceAll(name, "//", "/")
	}
	if len(name) > 1 {
		name = strings.TrimSuffix(name, "/")
	}
	return name
}

// recordFamilies are the decoders of internal topics by their option, in the order in which Kafka looks at them.
var recordFamilies = [...]struct{ option, family string }{
	{"offsets-decoder", "group"}, {"transaction-log-decoder", "txn"}, {"cluster-metadata-decoder", "metadata"},
	{"remote-log-metadata-decoder", "remote"}, {"share-group-state-decoder", "share"},
}

func (d *dumper) newParser() (recordParser, error) {
	switch d.o.decoder {
	case "":
		var p plainParser
		for _, of := range []struct {
			class string
			into  *func([]byte) ([]byte, error)
		}{{d.o.keyDecoder, &p.key}, {d.o.valueDecoder, &p.value}} {
			decode, ok := decoderOf(of.class)
			if !ok {
				return nil, &exception{"java.lang.RuntimeException", "Failed to load decoder class"}
			}
			*of.into = decode
		}
		return p, nil
	case "metadata":
		return newMetadataParser(d.schemas()), nil
	}
	return newCoordinatorParser(d.schemas(), d.o.decoder), nil
}

const defaultMaxMessageSize = 5 << 20 // --max-message-size

var _ = context.Background
var _ = errors.New
var _ = math.MaxInt32
