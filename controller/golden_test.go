package controller

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/metadata/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A scenario is a text of steps: a request, or a word of its own, then ---- and what came of it (the answer and the new batches of the
// metadata log), then a blank line. Requests are "Name vN {json with the fields of the kmsg struct}".
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScenario(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s: %s", file, firstDifference(string(text), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(w) || i < len(g); i++ {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b || i >= len(w) || i >= len(g) {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s\n(go test ./controller -run TestScenarios -update rewrites it)", i+1, a, b)
		}
	}
	return "no difference"
}

func runScenario(t *testing.T, text string) string {
	var out strings.Builder
	s := newStory(t)
	defer s.close()
	for _, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		head, _, _ := strings.Cut(block, "\n----")
		out.WriteString(head)
		out.WriteString("\n----\n")
		for _, line := range strings.Split(head, "\n") {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			out.WriteString(s.do(line))
		}
		out.WriteString("\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// story is a controller under test with everything about it fixed: time, ids, placement.
type story struct {
	t     *testing.T
	log   *MemLog
	clk   *clock.Manual
	c     *Controller
	opts  Options
	shown int64 // offset up to which the log was shown
	bits  uint64
}

func testConfig(t testing.TB, overrides ...string) *config.Static {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: append([]string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=/data"}, overrides...)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func newStory(t *testing.T) *story {
	s := &story{t: t, log: NewMemLog(), clk: clock.NewManual(time.UnixMilli(1_700_000_000_000))}
	s.opts = testOptions(t, s.log, s.clk)
	s.opts.Random = func() uint64 { s.bits++; return s.bits << 8 }
	return s
}

func testOptions(t testing.TB, log Log, clk clock.Clock) Options {
	bits := uint64(0)
	return Options{
		NodeID: 1, ClusterID: "cluster", Log: log, Clock: clk, Logger: zerolog.Nop(), Static: testConfig(t), CleanStart: true,
		VoterEndpoints: []Endpoint{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 9093}},
		Broker: Registration{Incarnation: [16]byte{1}, Endpoints: []Endpoint{{Name: "PLAINTEXT", Host: "127.0.0.1", Port: 9092}},
			LogDirs: [][16]byte{{0xd1}}},
		ScramKeys: func(mechanism int8, salted []byte) ([]byte, []byte) { return []byte("stored"), []byte("server") },
		Random:    func() uint64 { bits += 0x9e3779b97f4a7c15; return bits },
		Failed:    func(error) {},
	}
}

func (s *story) close() {
	if s.c != nil {
		if err := s.c.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

// do runs one line and tells what came of it.
func (s *story) do(line string) string {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "static": // properties of the process, before start
		s.opts.Static = testConfig(s.t, strings.Fields(rest)...)
		return ""
	case "start":
		s.close()
		s.opts.CleanStart = rest != "unclean"
		c, err := Start(s.opts)
		if err != nil {
			s.c = nil
			return "error " + err.Error() + "\n"
		}
		s.c = c
		return s.newRecords()
	case "crash": // a power cut
		s.close()
		s.c = nil
		s.log = s.log.Crash()
		s.opts.Log = s.log
		return ""
	case "record": // a record from elsewhere, put into the log while nobody runs
		return s.plant(rest)
	case "offline", "dirs": // "offline d1" reports a failed directory; "dirs d1 d2" is what the next start has
		var ids [][16]byte
		for _, d := range strings.Fields(rest) {
			ids = append(ids, dirID(d))
		}
		if word == "dirs" {
			s.opts.Broker.LogDirs = ids
			return ""
		}
		done := make(chan error, 1)
		s.c.ReportOfflineDirs(ids, func(err error) { done <- err })
		return fmt.Sprintf("err=%v\n", <-done) + s.newRecords()
	case "assign": // "assign topic partition dir"
		var topic, dir string
		var partition int32
		if _, err := fmt.Sscan(rest, &topic, &partition, &dir); err != nil {
			s.t.Fatal(err)
		}
		done := make(chan error, 1)
		s.c.AssignReplicasToDirs([]DirAssignment{{s.c.Image().Topic(topic).ID, partition, dirID(dir)}}, func(err error) { done <- err })
		return fmt.Sprintf("err=%v\n", <-done) + s.newRecords()
	case "AllocateProducerIDs":
		type answer struct {
			first int64
			count int32
			err   error
		}
		done := make(chan answer, 1)
		s.c.AllocateProducerIDs(func(first int64, count int32, err error) { done <- answer{first, count, err} })
		a := <-done
		return fmt.Sprintf("first=%d count=%d err=%v\n", a.first, a.count, a.err) + s.newRecords()
	}
	return s.request(word, rest)
}

// dirID is a directory's id by what show prints of it.
func dirID(text string) (id [16]byte) {
	_, _ = hex.Decode(id[:], []byte(text)) // a wrong one shows in the answer
	return id
}

// plant appends records to the closed log, given as "Name {json}".
func (s *story) plant(text string) string {
	s.close()
	s.c = nil
	name, body, _ := strings.Cut(text, " ")
	for key := int16(0); key < 64; key++ {
		msg := record.New(key)
		if msg == nil || msg.RecordName() != name {
			continue
		}
		if err := json.Unmarshal([]byte(body), msg); err != nil {
			s.t.Fatalf("%s: %v", text, err)
		}
		value := record.Append(nil, msg, record.VersionAt(msg, maxMetadataVersion))
		st, _, _ := s.log.State()
		err := s.log.Append([]LogBatch{{BaseOffset: s.log.EndOffset(), Epoch: max(st.LeaderEpoch, 1), TimestampMs: s.clk.Wall().UnixMilli(), Control: NotControl, Values: [][]byte{value}}})
		if err != nil {
			s.t.Fatal(err)
		}
		if err := s.log.Sync(); err != nil {
			s.t.Fatal(err)
		}
		s.shown = s.log.EndOffset()
		return ""
	}
	s.t.Fatalf("no record %q", name)
	return ""
}

func (s *story) request(name, rest string) string {
	version, body, _ := strings.Cut(rest, " ")
	v, err := strconv.Atoi(strings.TrimPrefix(version, "v"))
	if err != nil {
		s.t.Fatalf("%s: bad version %q", name, version)
	}
	var resp kmsg.Response
	for key := int16(0); key < 100; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil || kmsg.NameForKey(key) != name {
			continue
		}
		if d, ok := req.(interface{ Default() }); ok {
			d.Default()
		}
		if err := json.Unmarshal([]byte(body), req); err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
		req.SetVersion(int16(v))
		resp = s.ask(req)
		// What the client gets is what the version has room for.
		wire := resp.AppendTo(nil)
		back := req.ResponseKind()
		if err := back.ReadFrom(wire); err != nil {
			s.t.Fatalf("%s: answer does not decode: %v", name, err)
		}
		return show(reflect.ValueOf(back), "") + "\n" + s.newRecords()
	}
	s.t.Fatalf("no request %q", name)
	return ""
}

// ask sends a request to the controller and waits for the answer.
func (s *story) ask(req kmsg.Request) kmsg.Response {
	done := make(chan kmsg.Response, 1)
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		s.c.CreateTopics(req, func(r *kmsg.CreateTopicsResponse) { done <- r })
	case *kmsg.DeleteTopicsRequest:
		s.c.DeleteTopics(req, func(r *kmsg.DeleteTopicsResponse) { done <- r })
	case *kmsg.CreatePartitionsRequest:
		s.c.CreatePartitions(req, func(r *kmsg.CreatePartitionsResponse) { done <- r })
	case *kmsg.AlterConfigsRequest:
		s.c.AlterConfigs(req, func(r *kmsg.AlterConfigsResponse) { done <- r })
	case *kmsg.IncrementalAlterConfigsRequest:
		s.c.IncrementalAlterConfigs(req, func(r *kmsg.IncrementalAlterConfigsResponse) { done <- r })
	case *kmsg.AlterClientQuotasRequest:
		s.c.AlterClientQuotas(req, func(r *kmsg.AlterClientQuotasResponse) { done <- r })
	case *kmsg.AlterUserSCRAMCredentialsRequest:
		s.c.AlterUserSCRAMCredentials(req, func(r *kmsg.AlterUserSCRAMCredentialsResponse) { done <- r })
	case *kmsg.UpdateFeaturesRequest:
		s.c.UpdateFeatures(req, func(r *kmsg.UpdateFeaturesResponse) { done <- r })
	case *kmsg.ElectLeadersRequest:
		s.c.ElectLeaders(req, func(r *kmsg.ElectLeadersResponse) { done <- r })
	case *kmsg.AlterPartitionAssignmentsRequest:
		s.c.AlterPartitionAssignments(req, func(r *kmsg.AlterPartitionAssignmentsResponse) { done <- r })
	case *kmsg.ListPartitionReassignmentsRequest:
		s.c.ListPartitionReassignments(req, func(r *kmsg.ListPartitionReassignmentsResponse) { done <- r })
	case *kmsg.DescribeQuorumRequest:
		s.c.DescribeQuorum(req, func(r *kmsg.DescribeQuorumResponse) { done <- r })
	case *kmsg.UnregisterBrokerRequest:
		s.c.UnregisterBroker(req, func(r *kmsg.UnregisterBrokerResponse) { done <- r })
	default:
		s.t.Fatalf("nobody answers %T", req)
	}
	return <-done
}

// newRecords shows the batches since the last time.
func (s *story) newRecords() string {
	var out strings.Builder
	for s.shown < s.log.EndOffset() {
		batches, err := s.log.Read(s.shown, 1<<20)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, b := range batches {
			fmt.Fprintf(&out, "batch offset=%d epoch=%d\n", b.BaseOffset, b.Epoch)
			for _, v := range b.Values {
				if b.Control != NotControl {
					fmt.Fprintf(&out, "  control %d\n", b.Control)
					continue
				}
				msg, version, err := record.Read(v)
				if err != nil {
					s.t.Fatal(err)
				}
				fmt.Fprintf(&out, "  %s v%d %s\n", msg.RecordName(), version, show(reflect.ValueOf(msg), ""))
			}
			s.shown = b.NextOffset()
		}
	}
	return out.String()
}

// show prints the fields of a struct that are not zero, ErrorCode by its name.
func show(v reflect.Value, field string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return show(v.Elem(), field)
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			f := v.Field(i)
			if name == "UnknownTags" || name == "Version" || f.IsZero() && name != "ErrorCode" && name != "Leader" {
				continue
			}
			parts = append(parts, name+"="+show(f, name))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case reflect.Slice:
		if b, ok := v.Interface().([]byte); ok {
			return fmt.Sprintf("%q", b)
		}
		if field == "Configs" && v.Len() > 3 {
			return fmt.Sprintf("(%d settings)", v.Len())
		}
		if field == "Features" || field == "Features " {
			return fmt.Sprintf("(%d features)", v.Len())
		}
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = show(v.Index(i), "")
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Array:
		return fmt.Sprintf("%x", bytes.TrimRight(v.Slice(0, v.Len()).Bytes(), "\x00"))
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	if field == "ErrorCode" {
		if err, ok := kerr.ErrorForCode(int16(v.Int())).(*kerr.Error); ok {
			return err.Message
		}
		return "NONE"
	}
	return fmt.Sprint(v.Interface())
}
