package cli

import (
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/spf13/cobra"

	"github.com/kaja-mq/kaja/storage"
)

// lockFile is what a running broker, kaja or Kafka, holds in each of its directories.
const lockFile = ".lock"

// checkCommand verifies data directories. It changes nothing but for the lock that keeps a broker away meanwhile.
func (p *Process) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIR...",
		Short: "Verify data directories that no broker uses",
		Long: "Read everything in the data directories: batches, indexes, producer snapshots, epochs, checkpoints. Each problem is a line; " +
			"with any the exit code is 1. After an unclean stop run the broker once before: it repairs what is no loss.",
		Example: "  kaja check ./kaja-data",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("check needs a data directory, such as ./kaja-data")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, dirs []string) error {
			return p.interruptible(func() error { return p.check(c.OutOrStdout(), dirs) })
		},
	}
}

// check tells the problems of all directories.
func (p *Process) check(out io.Writer, dirs []string) error {
	found := 0
	for _, dir := range dirs {
		problems, err := p.checkDir(dir)
		if err != nil {
			return fmt.Errorf("cannot check %s: %w", dir, err)
		}
		for _, pr := range problems {
			if _, err := fmt.Fprintln(out, oneLine(pr.String())); err != nil {
				return err
			}
		}
		found += len(problems)
	}
	if found > 0 {
		return fmt.Errorf("%d %s found", found, problems(found))
	}
	_, err := fmt.Fprintln(out, "no problems found")
	return err
}

func (p *Process) checkDir(dir string) (_ []storage.Problem, err error) {
	if _, err := p.FS.Stat(dir); err != nil {
		return nil, err
	}
	lock, err := p.FS.Lock(path.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return storage.Check(p.FS, dir)
}

func problems(n int) string {
	if n == 1 {
		return "problem"
	}
	return "problems"
}
