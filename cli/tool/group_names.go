package tool

import "strings"

// groupStates are Kafka's names of the states of groups; groupTypes of their types. A name is read in any case.
var (
	groupStates = []string{"PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling", "NotReady"}
	groupTypes  = []string{"Consumer", "Classic", "Share", "Streams"}
	// consumerGroupStates are the states of groups of the consumer protocols; Kafka prints them in any order.
	consumerGroupStates = []string{"Dead", "Stable", "Reconciling", "PreparingRebalance", "Empty", "CompletingRebalance", "Assigning"}
	consumerGroupTypes  = []string{"Consumer", "Classic"}
)

const unknownName = "Unknown"

func groupStateName(s string) string { return nameIn(groupStates, s) }
func groupTypeName(s string) string  { return nameIn(groupTypes, s) }

func nameIn(names []string, s string) string {
	for _, n := range names {
		if strings.EqualFold(n, s) {
			return n
		}
	}
	return unknownName
}

// parseGroupFilter reads a list of states or types; what is not among the valid ones gives Kafka's message.
func parseGroupFilter(input, kind string, valid []string) ([]string, error) {
	if input == "" {
		return nil, nil
	}
	var names []string
	for _, s := range javaSplit(input, ",") {
		name := nameIn(valid, strings.TrimSpace(s))
		if name == unknownName {
			return nil, thrown(classIllegalArgument, "Invalid %s list '%s'. Valid %s are: %s", kind, input, kind+pluralOf(kind), strings.Join(valid, ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// pluralOf makes "states" of "state"; "types" is one already.
func pluralOf(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return ""
	}
	return "s"
}
