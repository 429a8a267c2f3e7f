package metadata

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kaja-mq/kaja/metadata/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestScenarios runs testdata/*.txt. A scenario is a story of paragraphs: the lines of a paragraph are the records of one Apply, each a
// name and fields; what follows "----" is what changed and the image after it, or the error that left it as it was. Ids are small numbers.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := runScenario(t, string(text))
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

func runScenario(t *testing.T, text string) string {
	var out strings.Builder
	img, offset := Empty(), int64(-1)
	for _, paragraph := range strings.Split(text, "\n\n") {
		in, _, _ := strings.Cut(paragraph, "----")
		in = strings.TrimSpace(in)
		if in == "" {
			continue
		}
		var recs []record.Message
		for _, line := range strings.Split(in, "\n") {
			if !strings.HasPrefix(line, "#") {
				recs = append(recs, parseRecord(t, line))
				offset++
			}
		}
		fmt.Fprintf(&out, "%s\n----\n", in)
		next, delta, err := img.Apply(recs, offset, 1)
		if err != nil {
			if next != img || delta != nil {
				t.Error("an error came with a new image or a delta")
			}
			fmt.Fprintf(&out, "error: %v\n\n", err)
			offset = img.Offset
			continue
		}
		img = next
		out.WriteString(showDelta(delta) + show(img) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// show is the image as the records of its snapshot.
func show(img *Image) string {
	var b strings.Builder
	fmt.Fprintf(&b, "image at %d epoch %d: %d topics %d partitions\n", img.Offset, img.Epoch, img.TopicCount(), img.PartitionCount())
	for r := range img.Records() {
		fmt.Fprintf(&b, "  %s%s\n", r.RecordName(), showFields(reflect.ValueOf(r).Elem()))
	}
	return b.String()
}

// showFields leaves out what is zero or null.
func showFields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() && !(f.Kind() == reflect.Slice && f.Len() == 0) {
			fmt.Fprintf(&b, " %s=%s", v.Type().Field(i).Name, showValue(f))
		}
	}
	return b.String()
}

func showValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		return showValue(v.Elem())
	case reflect.Array:
		return showID(v.Interface().([16]byte))
	case reflect.Struct:
		return "{" + strings.TrimSpace(showFields(v)) + "}"
	case reflect.Slice:
		var list []string
		for i := range v.Len() {
			list = append(list, showValue(v.Index(i)))
		}
		return strings.Join(list, ",")
	case reflect.String:
		if v.String() == "" || strings.ContainsAny(v.String(), " =,") {
			return strconv.Quote(v.String())
		}
	}
	return fmt.Sprint(v.Interface())
}

func showID(id [16]byte) string {
	if slices.Max(id[:15]) == 0 {
		return fmt.Sprint(id[15])
	}
	return hex.EncodeToString(id[:4])
}

func showDelta(d *Delta) string {
	var b strings.Builder
	for _, t := range d.SortedTopics() {
		switch {
		case t.Old == nil:
			fmt.Fprintf(&b, "new topic %s id=%s partitions=%v\n", t.New.Name, showID(t.ID()), t.Partitions)
		case t.New == nil:
			fmt.Fprintf(&b, "deleted topic %s id=%s\n", t.Old.Name, showID(t.ID()))
		default:
			fmt.Fprintf(&b, "changed topic %s id=%s partitions=%v\n", t.New.Name, showID(t.ID()), t.Partitions)
		}
	}
	var resources []Resource
	for res := range d.Configs {
		resources = append(resources, res)
	}
	slices.SortFunc(resources, compareResources)
	for _, res := range resources {
		slices.Sort(d.Configs[res])
		fmt.Fprintf(&b, "changed configs of type %d name %q: %v\n", res.Type, res.Name, d.Configs[res])
	}
	if len(d.Brokers)+len(d.Controllers)+len(d.Features) > 0 {
		fmt.Fprintf(&b, "changed brokers %v controllers %v features %v\n", d.Brokers, d.Controllers, d.Features)
	}
	for _, q := range d.Quotas {
		fmt.Fprintf(&b, "changed quota %q\n", entityKey(q))
	}
	if len(d.Scrams)+len(d.ACLs)+len(d.DelegationTokens) > 0 || d.ProducerIDs {
		fmt.Fprintf(&b, "changed scrams %v acls %d tokens %v producer ids %t\n", d.Scrams, len(d.ACLs), d.DelegationTokens, d.ProducerIDs)
	}
	if d.Empty() {
		b.WriteString("nothing changed\n")
	}
	return b.String()
}

// newRecord returns an empty record of a name, with its defaults where the scenarios count on them.
func newRecord(t *testing.T, name string) record.Message {
	switch name {
	case "PartitionChangeRecord":
		return record.NewPartitionChangeRecord()
	case "RegisterBrokerRecord":
		return record.NewRegisterBrokerRecord()
	}
	for key := range int16(64) {
		if m := record.New(key); m != nil && m.RecordName() == name {
			return m
		}
	}
	t.Fatalf("no record %q", name)
	return nil
}

func parseRecord(t *testing.T, line string) record.Message {
	words := strings.Fields(line)
	m := newRecord(t, words[0])
	v := reflect.ValueOf(m).Elem()
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		f := v.FieldByName(name)
		if !f.IsValid() {
			t.Fatalf("%s has no field %s", words[0], name)
		}
		parseValue(t, f, value)
	}
	return m
}

func parseValue(t *testing.T, f reflect.Value, s string) {
	switch f.Interface().(type) {
	case [16]byte:
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		f.Set(reflect.ValueOf([16]byte{15: byte(n)}))
		return
	case []byte:
		f.SetBytes([]byte(s))
		return
	case []record.BrokerEndpoint:
		f.Set(reflect.ValueOf([]record.BrokerEndpoint{{Name: s, Host: "h", Port: 9092}}))
		return
	case []record.ControllerEndpoint:
		f.Set(reflect.ValueOf([]record.ControllerEndpoint{{Name: s, Host: "h", Port: 9093}}))
		return
	case []record.EntityData:
		var list []record.EntityData
		for _, part := range strings.Split(s, ",") {
			typ, name, given := strings.Cut(part, ":")
			e := record.EntityData{EntityType: typ}
			if given {
				e.EntityName = &name
			}
			list = append(list, e)
		}
		f.Set(reflect.ValueOf(list))
		return
	}
	switch f.Kind() {
	case reflect.Pointer:
		p := reflect.New(f.Type().Elem())
		parseValue(t, p.Elem(), s)
		f.Set(p)
	case reflect.Slice:
		list := reflect.MakeSlice(f.Type(), 0, 4)
		for _, part := range strings.Split(s, ",") {
			if part != "" {
				e := reflect.New(f.Type().Elem()).Elem()
				parseValue(t, e, part)
				list = reflect.Append(list, e)
			}
		}
		f.Set(list)
	case reflect.String:
		f.SetString(s)
	case reflect.Bool:
		f.SetBool(s == "true")
	case reflect.Float64:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		f.SetFloat(x)
	default:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		f.SetInt(n)
	}
}
