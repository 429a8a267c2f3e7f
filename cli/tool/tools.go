package tool

import (
	"context"
	"slices"
	"strings"
)

// Tool is one of Kafka's command-line tools.
type Tool struct {
	// Name is that of Kafka's script without .sh.
	Name string
	// Short is what it does, in a line.
	Short string
	// Run does it and returns the exit code.
	Run func(ctx context.Context, e *Env) int
}

// Tools that end in order when they are told to.
const (
	consoleConsumerName = "kafka-console-consumer"
	consoleProducerName = "kafka-console-producer"
)

// Call runs the tool; SIGTERM and SIGINT end it at once, as they end a Java program, unless the tool has something to do then. It is for
// processes that end with the tool: one that is told to end may still be at it.
func (t Tool) Call(ctx context.Context, e *Env) int {
	if t.Name == consoleConsumerName || t.Name == consoleProducerName {
		return t.Run(ctx, e)
	}
	ended := make(chan int, 1)
	go func() { ended <- t.Run(ctx, e) }() // the process ends with Call
	select {
	case code := <-ended:
		return code
	case s := <-e.Signals:
		return signalExit(s)
	}
}

// All lists every tool by name.
func All() []Tool {
	all := slices.Concat(adminTools(), clientTools(), nodeTools())
	slices.SortFunc(all, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Find is the tool of a name, with or without .sh.
func Find(name string) (Tool, bool) {
	name = strings.TrimSuffix(name, ".sh")
	for _, t := range slices.Concat(adminTools(), clientTools(), nodeTools()) {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// adminTools look after a cluster.
func adminTools() []Tool {
	return []Tool{
		topicsTool(), getOffsetsTool(), brokerVersionsTool(), logDirsTool(), deleteRecordsTool(), leaderElectionTool(),
		clusterTool(), metadataQuorumTool(), featuresTool(), configsTool(), aclsTool(),
	}
}
