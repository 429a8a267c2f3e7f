package tool

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
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
	wrong                     error // with the options of logs: told when the first log is met, as by Kafka
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
		if d.o.wrong != nil {
			return d.o.wrong
		}
		var err error
		if d.parser, err = d.newParser(); err != nil {
			return err
		}
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

// Defaults and other constants of the options.
const (
	defaultMaxMessageSize = 5 << 20
	stringDecoder         = "org.apache.kafka.tools.api.StringDecoder"
	dumpBuffer            = 64 << 10 // bytes written at once
)

func dumpLogTool() Tool {
	return Tool{"kafka-dump-log", "Print what is in the files of a log", runDumpLog}
}

func runDumpLog(_ context.Context, e *Env) int {
	o, code, err := dumpArguments(e)
	switch {
	case err != nil:
		return e.uncaught(err)
	case o == nil:
		return code
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		return e.uncaught(err)
	}
	out := bufio.NewWriterSize(e.Stdout, dumpBuffer)
	d := dumper{fs: e.FS, dir: dir, o: *o, out: out, err: dumpErrors{out, e.Stderr}}
	err = d.run()
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return e.uncaught(err)
	}
	return 0
}

// dumpErrors writes to standard error what was found, after what was printed before.
type dumpErrors struct {
	out *bufio.Writer
	err io.Writer
}

func (d dumpErrors) Write(p []byte) (int, error) {
	if err := d.out.Flush(); err != nil {
		return 0, err
	}
	return d.err.Write(p)
}

// dumpArguments reads the command line; nil options mean that code ends the tool.
func dumpArguments(e *Env) (*dumpOptions, int, error) {
	p, help, version := newJopt(true)
	flag := func(name, text string) *joptSpec { return p.option(name, text) }
	const decoderHelp = " This class should implement org.apache.kafka.tools.api.Decoder trait. Custom jar should be available in kafka/libs directory."
	printLog := flag("print-data-log", "If set, printing the messages content when dumping data logs. Automatically set if any decoder option is specified.")
	verify := flag("verify-index-only", "If set, just verify the index log without printing its content.")
	sanity := flag("index-sanity-check", "If set, just checks the index sanity without printing its content. "+
		"This is the same check that is executed on broker startup to determine if an index needs rebuilding or not.")
	files := flag("files", "REQUIRED: The comma separated list of data and index log files to be dumped.").withRequiredArg().
		describedAs("file1, file2, ...").ofType(joptString)
	messageSize := flag("max-message-size", "Size of largest message.").withRequiredArg().describedAs("size").ofType(joptInteger).defaultsTo(decimal(defaultMaxMessageSize))
	maxBytes := flag("max-bytes", "Limit the amount of total batches read in bytes avoiding reading the whole .log file(s).").withRequiredArg().
		describedAs("size").ofType(joptInteger).defaultsTo(decimal(math.MaxInt32))
	deep := flag("deep-iteration", "If set, uses deep instead of shallow iteration. Automatically set if print-data-log is enabled.")
	value := flag("value-decoder-class", "If set, used to deserialize the messages."+decoderHelp).withOptionalArg().ofType(joptString).defaultsTo(stringDecoder)
	key := flag("key-decoder-class", "If set, used to deserialize the keys."+decoderHelp).withOptionalArg().ofType(joptString).defaultsTo(stringDecoder)
	families := map[string]*joptSpec{
		"group":    flag("offsets-decoder", "If set, log data will be parsed as offset data from the __consumer_offsets topic."),
		"txn":      flag("transaction-log-decoder", "If set, log data will be parsed as transaction metadata from the __transaction_state topic."),
		"metadata": flag("cluster-metadata-decoder", "If set, log data will be parsed as cluster metadata records."),
		"remote": flag("remote-log-metadata-decoder", "If set, log data will be parsed as TopicBasedRemoteLogMetadataManager (RLMM) metadata records. "+
			"Instead, the value-decoder-class option can be used if a custom RLMM implementation is configured."),
		"share": flag("share-group-state-decoder", "If set, log data will be parsed as share group state data from the __share_group_state topic."),
	}
	skip := flag("skip-record-metadata", "Skip metadata when printing records. This flag also skips control records.")
	set, err := p.parse(e.Args)
	switch {
	case err != nil:
		return nil, 0, err
	case len(e.Args) == 0 || set.has(help):
		return nil, p.usage(e, "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly corrupt log segment."), nil
	case set.has(version):
		return nil, e.printVersion(), nil
	case !set.has(files):
		return nil, p.usage(e, `Missing required argument "[files]"`), nil
	}
	o := &dumpOptions{verifyOnly: set.has(verify), sanityOnly: set.has(sanity), skipMetadata: set.has(skip)}
	// As Kafka's list of decoders: the first of them that is set.
	for _, family := range []string{"group", "txn", "metadata", "remote", "share"} {
		if set.has(families[family]) && o.decoder == "" {
			o.decoder = family
		}
	}
	o.print = set.hasAny(printLog, value, key) || o.decoder != ""
	o.deep = o.print || set.has(deep)
	var names string
	var err1, err2, err3, err4, err5 error
	names, err1 = set.value(files)
	o.keyDecoder, err2 = set.value(key)
	o.valueDecoder, err3 = set.value(value)
	size, err4 := set.number(messageSize)
	bytes, err5 := set.number(maxBytes)
	o.files, o.maxMessageSize, o.maxBytes = strings.Split(names, ","), int(size), int(bytes)
	o.wrong = cmp.Or(err2, err3, err5)
	return o, 0, cmp.Or(err1, err4)
}
