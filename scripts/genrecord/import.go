package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// jars says where Kafka 4.4.0 keeps the schemas, and which of them are records that lie on disk.
var jars = []struct {
	family, glob, dir string
	only              []string
}{
	{family: "metadata", glob: "kafka-metadata-[0-9]*.jar", dir: "common/metadata/"},
	{family: "control", glob: "kafka-clients-[0-9]*.jar", dir: "common/message/",
		only: []string{"LeaderChangeMessage", "VotersRecord", "KRaftVersionRecord", "SnapshotHeaderRecord", "SnapshotFooterRecord"}},
	{family: "protocol", glob: "kafka-clients-[0-9]*.jar", dir: "common/message/", only: []string{"ConsumerProtocolSubscription", "ConsumerProtocolAssignment"}},
	{family: "group", glob: "kafka-group-coordinator-[0-9]*.jar", dir: "common/message/"},
	{family: "txn", glob: "kafka-transaction-coordinator-[0-9]*.jar", dir: "common/message/"},
	{family: "share", glob: "kafka-share-coordinator-[0-9]*.jar", dir: "common/message/"},
}

// jsonField is a field of Kafka's schema files as far as the wire needs it.
type jsonField struct {
	Name             string          `json:"name"`
	Type             string          `json:"type"`
	Versions         string          `json:"versions"`
	NullableVersions string          `json:"nullableVersions"`
	TaggedVersions   string          `json:"taggedVersions"`
	Tag              int             `json:"tag"`
	Default          json.RawMessage `json:"default"`
	Fields           []jsonField     `json:"fields"`
}

type jsonStruct struct {
	Name   string      `json:"name"`
	Fields []jsonField `json:"fields"`
}

type jsonRecord struct {
	APIKey        *int         `json:"apiKey"`
	Name          string       `json:"name"`
	ValidVersions string       `json:"validVersions"`
	Flexible      string       `json:"flexibleVersions"`
	Fields        []jsonField  `json:"fields"`
	CommonStructs []jsonStruct `json:"commonStructs"`
}

// importJars prints schema.txt for the jars in dir.
func importJars(dir string, out io.Writer) error {
	fmt.Fprintln(out, "# The records that Apache Kafka 4.4.0 keeps on disk: scripts/genrecord import. See scripts/genrecord/main.go for the format.")
	for _, j := range jars {
		found, err := filepath.Glob(filepath.Join(dir, j.glob))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%s in %s: want one jar, have %d (%v)", j.glob, dir, len(found), err)
		}
		records, err := readJar(found[0], j.dir, j.only)
		if err != nil {
			return fmt.Errorf("%s: %w", found[0], err)
		}
		for _, r := range records {
			printRecord(out, j.family, r)
		}
	}
	return nil
}

// comment matches a line comment of the schema files; no string in them holds "//" after a blank.
var comment = regexp.MustCompile(`(?m)(^|\s)//.*$`)

func readJar(name, dir string, only []string) ([]jsonRecord, error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var records []jsonRecord
	for _, f := range z.File {
		base := strings.TrimSuffix(path.Base(f.Name), ".json")
		if !strings.HasPrefix(f.Name, dir) || base == path.Base(f.Name) || (len(only) > 0 && !contains(only, base)) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, err
		}
		var rec jsonRecord
		if err := json.Unmarshal(comment.ReplaceAll(text, nil), &rec); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		records = append(records, rec)
	}
	sort.Slice(records, func(i, j int) bool {
		a, b := key(records[i]), key(records[j])
		return a < b || a == b && records[i].Name < records[j].Name
	})
	return records, nil
}

func key(r jsonRecord) int {
	if r.APIKey == nil {
		return -1
	}
	return *r.APIKey
}

func printRecord(out io.Writer, family string, r jsonRecord) {
	fmt.Fprintf(out, "\nrecord %s family=%s key=%d versions=%s flexible=%s\n", r.Name, family, key(r), r.ValidVersions, r.Flexible)
	printFields(out, "  ", r.Fields)
	for _, s := range r.CommonStructs {
		fmt.Fprintf(out, "struct %s\n", s.Name)
		printFields(out, "  ", s.Fields)
	}
}

func printFields(out io.Writer, indent string, fields []jsonField) {
	for _, f := range fields {
		versions := f.Versions
		if versions == "" {
			versions = f.TaggedVersions // as Kafka's generator has it
		}
		fmt.Fprintf(out, "%s%s %s %s", indent, f.Name, f.Type, versions)
		if f.NullableVersions != "" {
			fmt.Fprintf(out, " null=%s", f.NullableVersions)
		}
		if f.TaggedVersions != "" {
			fmt.Fprintf(out, " tag=%d@%s", f.Tag, f.TaggedVersions)
		}
		// Kafka's generator takes the word "null" as the default null, but a JSON null as no default at all (empty).
		if d := strings.Trim(string(f.Default), `"`); string(f.Default) != "null" && d != "" {
			fmt.Fprintf(out, " default=%s", d)
		}
		fmt.Fprintln(out)
		printFields(out, indent+"  ", f.Fields)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
