// Command genrecord makes the record codecs of metadata/record and coordinator/record.
//
//	genrecord import JARDIR > schema.txt   reads Kafka's JSON schemas from the jars of a Kafka installation
//	genrecord generate SCHEMA ROOT         writes ROOT/{metadata,coordinator}/record/zz_generated.go and ROOT/cli/tool/zz_schema.txt
//
// schema.txt is the field tables and nothing else: one line per record, per struct and per field, children indented by two blanks.
//
//	record NAME family=FAMILY key=KEY versions=RANGE flexible=RANGE
//	struct NAME                                          a struct that several fields of the record above share
//	FIELD TYPE VERSIONS [null=RANGE] [tag=N@RANGE] [default=VALUE]
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genrecord:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "import":
		return importJars(args[1], os.Stdout)
	case len(args) == 3 && args[0] == "generate":
		return generateAll(args[1], args[2])
	}
	return fmt.Errorf("usage: genrecord import JARDIR | genrecord generate SCHEMA ROOT")
}

// generateAll writes both packages from one schema file.
func generateAll(schemaPath, root string) error {
	text, err := os.ReadFile(schemaPath)
	if err != nil {
		return err
	}
	records, err := parseSchema(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", schemaPath, err)
	}
	for _, p := range []target{
		{dir: "metadata/record", families: []string{"metadata", "control"}},
		{dir: "coordinator/record", families: []string{"group", "txn", "share"}},
	} {
		src, err := generate(p, records)
		if err != nil {
			return fmt.Errorf("%s: %w", p.dir, err)
		}
		if err := os.WriteFile(filepath.Join(root, p.dir, "zz_generated.go"), src, 0o644); err != nil {
			return err
		}
	}
	// kafka-dump-log reads any record by the table itself.
	return os.WriteFile(filepath.Join(root, "cli/tool/zz_schema.txt"), text, 0o644)
}
