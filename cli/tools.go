package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kaja-mq/kaja/cli/tool"
)

// toolGroup is where --help lists Kafka's tools.
const toolGroup = "tools"

// calledTool tells which of Kafka's tools the command line calls: by the program's name or by the first argument. It comes before
// anything of the command tree is made, so that a tool is as quick as its work.
func calledTool(args []string) (t tool.Tool, rest []string, ok bool) {
	if len(args) == 0 {
		return t, nil, false
	}
	if t, ok = tool.Find(filepath.Base(args[0])); ok {
		return t, args[1:], true
	}
	if len(args) == 1 {
		return t, nil, false
	}
	t, ok = tool.Find(args[1])
	return t, args[2:], ok
}

func (p *Process) runTool(t tool.Tool, args []string) int {
	return t.Call(context.Background(), &tool.Env{Name: t.Name, Args: args, Getenv: p.getenv, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
		FS: p.FS, Clock: p.Clock, Signals: p.Signals})
}

// getenv is the last value of a variable, empty if it has none.
func (p *Process) getenv(key string) string {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(p.Env[i], "="); ok && k == key {
			return v
		}
	}
	return ""
}

// addTools lists Kafka's tools for --help and shell completion; calls of them never come this far.
func addTools(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: toolGroup, Title: "Kafka's tools, also by their own names (see kaja kafka-topics --help):"})
	for _, t := range tool.All() {
		root.AddCommand(&cobra.Command{Use: t.Name, Short: strings.ToUpper(t.Short[:1]) + t.Short[1:], GroupID: toolGroup, DisableFlagParsing: true, Run: func(*cobra.Command, []string) {}})
	}
}

// toolsCommand lists the tools' names, for scripts that make links to them.
func (p *Process) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "tools",
		Short:   "List the names of Kafka's tools that are in this program, one per line",
		Example: "  for t in $(kaja tools); do ln -s \"$(command -v kaja)\" \"/usr/local/bin/$t\"; done",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			names := []string{"kafka-server-start"}
			for _, t := range tool.All() {
				names = append(names, t.Name)
			}
			slices.Sort(names)
			for _, n := range names {
				if _, err := fmt.Fprintln(c.OutOrStdout(), n); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Commands is the whole command line without anything behind it, for what is made from it (man pages).
func Commands() *cobra.Command {
	p := Process{}
	return p.root()
}
