package tool

import (
	"context"
	"time"
)

// nodeTools work on the files and the process of one broker, or move replicas and transactions.
func nodeTools() []Tool {
	return []Tool{dumpLogTool(), reassignTool(), transactionsTool(), storageTool(), serverStopTool()}
}

// pause waits, unless the context ends.
func (e *Env) pause(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	timer := e.Clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
