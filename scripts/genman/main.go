// Command genman makes the man pages of docs/man from the command line. Run it from the repository's root: go run ./scripts/genman
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kaja-mq/kaja/cli"
)

// dir is where the pages lie.
const dir = "docs/man"

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "genman:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	pages, err := generate()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(root, dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate makes the pages by their names: of kaja, and of each of its own commands. Kafka's tools have none: what they say with --help is Kafka's.
func generate() (map[string][]byte, error) {
	root := cli.Commands()
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.GroupID != "" {
			root.RemoveCommand(c)
		}
	}
	pages := map[string][]byte{}
	commands := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			commands = append(commands, c)
		}
	}
	date := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range commands {
		var b bytes.Buffer
		if err := doc.GenMan(c, &doc.GenManHeader{Title: "KAJA", Section: "1", Source: "kaja", Manual: "kaja", Date: &date}, &b); err != nil {
			return nil, err
		}
		name := "kaja"
		if c != root {
			name += "-" + c.Name()
		}
		pages[name+".1"] = b.Bytes()
	}
	return pages, nil
}
