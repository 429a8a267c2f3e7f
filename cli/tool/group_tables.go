package tool

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// missingColumn stands where nothing is known.
const missingColumn = "-"

func orMissing(s string) string {
	if s == "" {
		return missingColumn
	}
	return s
}

// offsetRow is a line of kafka-consumer-groups --describe; empty columns are not known.
type offsetRow struct {
	topicPartition
	known                    bool // topic and partition
	Offset, End, LeaderEpoch string
	Consumer, Host, Client   string
}

func (r offsetRow) lag() string {
	offset, err := strconv.ParseInt(r.Offset, 10, 64)
	end, err2 := strconv.ParseInt(r.End, 10, 64)
	if err != nil || err2 != nil || offset == -1 {
		return missingColumn
	}
	return strconv.FormatInt(end-offset, 10)
}

func (r offsetRow) topic() (topic, partition string) {
	if !r.known {
		return missingColumn, missingColumn
	}
	return r.Topic, strconv.Itoa(int(r.Partition))
}

// widest is the width of a column of at least least characters.
func widest(least int, texts ...string) int {
	for _, t := range texts {
		least = max(least, utf8.RuneCountInString(t))
	}
	return least
}

// printOffsets prints the offsets of one group.
func printOffsets(out io.Writer, group string, rows []offsetRow, verbose bool) {
	groupLen, topicLen, consumerLen, hostLen := widest(15), 15, 15, 15
	if len(rows) > 0 {
		groupLen = widest(15, group)
	}
	for _, r := range rows {
		topic, _ := r.topic()
		topicLen, consumerLen, hostLen = widest(topicLen, topic), widest(consumerLen, r.Consumer), widest(hostLen, r.Host)
	}
	line := func(group, topic, partition, epoch, offset, end, lag, consumer, host, client string) {
		fmt.Fprintf(out, "\n%-*s %-*s %-10s ", groupLen, group, topicLen, topic, partition)
		if verbose {
			fmt.Fprintf(out, "%-15s ", epoch)
		}
		fmt.Fprintf(out, "%-15s %-15s %-15s %-*s %-*s %s", offset, end, lag, consumerLen, consumer, hostLen, host, client)
	}
	line("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
	for _, r := range rows {
		topic, partition := r.topic()
		line(group, topic, partition, orMissing(r.LeaderEpoch), orMissing(r.Offset), orMissing(r.End), r.lag(), orMissing(r.Consumer),
			orMissing(r.Host), orMissing(r.Client))
	}
	fmt.Fprintln(out)
}

// printMembers prints the members of one group. Widths follow from them only where they are printed.
func printMembers(out io.Writer, g groupDescription, verbose, fit bool) {
	groupLen, idLen, instanceLen, hostLen, clientLen, currentLen, targetLen := 15, 15, 17, 15, 15, 20, 20
	instances, upgraded, classic := false, false, false
	if fit {
		for _, m := range g.Members {
			groupLen, idLen, instanceLen = widest(groupLen, g.ID), widest(idLen, m.ID), widest(instanceLen, m.InstanceID)
			hostLen, clientLen = widest(hostLen, m.Host), widest(clientLen, m.ClientID)
			currentLen, targetLen = widest(currentLen, assignmentText(m.Assigned)), widest(targetLen, assignmentText(m.Target))
			instances = instances || m.InstanceID != ""
			upgraded = upgraded || m.Upgraded == "true"
			classic = classic || m.Upgraded == "false"
		}
	}
	line := func(group, id, instance, host, client, count, epoch, current, targetEpoch, target, isUpgraded string) {
		fmt.Fprintf(out, "%-*s %-*s ", groupLen, group, idLen, id)
		if instances {
			fmt.Fprintf(out, "%-*s ", instanceLen, instance)
		}
		fmt.Fprintf(out, "%-*s %-*s %-15s ", hostLen, host, clientLen, client, count)
		if verbose {
			fmt.Fprintf(out, "%-15s %-*s %-15s %-*s", epoch, currentLen, current, targetEpoch, targetLen, target)
			if upgraded && classic {
				fmt.Fprint(out, " "+isUpgraded)
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	line("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED")
	for _, m := range g.Members {
		line(g.ID, m.ID, m.InstanceID, m.Host, m.ClientID, strconv.Itoa(len(m.Assigned)), orMissing(m.Epoch), assignmentText(m.Assigned),
			orMissing(g.TargetEpoch), assignmentText(m.Target), orMissing(m.Upgraded))
	}
}

// assignmentText is topic:0,1;other:2, sorted.
func assignmentText(tps []topicPartition) string {
	byTopic := make(map[string][]int32)
	for _, tp := range tps {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	var texts []string
	for topic, ps := range byTopic {
		slices.Sort(ps)
		var b strings.Builder
		for i, p := range ps {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(int(p)))
		}
		texts = append(texts, topic+":"+b.String())
	}
	slices.Sort(texts)
	return orMissing(strings.Join(texts, ";"))
}

// printState prints the state of one group.
func printState(out io.Writer, g groupDescription, verbose bool) {
	where := g.Coordinator.String()
	line := func(group, coordinator, strategy, state, epoch, targetEpoch, members string) {
		fmt.Fprintf(out, "\n%-*s %-*s %-20s %-20s ", widest(15, g.ID), group, widest(25, where), coordinator, strategy, state)
		if verbose {
			fmt.Fprintf(out, "%-15s %-25s ", epoch, targetEpoch)
		}
		fmt.Fprint(out, members)
	}
	line("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS")
	line(g.ID, where, orMissing(g.Assignor), g.State, orMissing(g.Epoch), orMissing(g.TargetEpoch), strconv.Itoa(len(g.Members)))
	fmt.Fprintln(out)
}

// printListing prints groups with their types and states where asked for.
func printListing(out io.Writer, groups []groupListing, types, states bool) {
	width := 15
	for _, g := range groups {
		width = widest(width, g.ID)
	}
	line := func(group, typ, state string) {
		fmt.Fprintf(out, "%-*s", width+10, group)
		if types {
			fmt.Fprintf(out, " %-20s", typ)
		}
		if states {
			fmt.Fprintf(out, " %-20s", state)
		}
		fmt.Fprintln(out)
	}
	line("GROUP", "TYPE", "STATE")
	for _, g := range groups {
		line(g.ID, g.Type, g.State)
	}
}

// groupPlan is what a group's offsets are to be, in the order of print.
type groupPlan struct {
	Group   string
	Offsets []groupOffset
}

// printPlans prints what --reset-offsets does or would do.
func printPlans(out io.Writer, plans []groupPlan) {
	groupLen, topicLen := 15, 15
	for _, p := range plans {
		groupLen = widest(groupLen, p.Group)
		for _, o := range p.Offsets {
			topicLen = widest(topicLen, o.Topic)
		}
	}
	if len(plans) > 0 {
		fmt.Fprintf(out, "\n%-*s %-*s %-10s %s", groupLen, "GROUP", topicLen, "TOPIC", "PARTITION", "NEW-OFFSET")
	}
	for _, p := range plans {
		for _, o := range p.Offsets {
			fmt.Fprintf(out, "\n%-*s %-*s %-10d %d", groupLen, p.Group, topicLen, o.Topic, o.Partition, o.Offset)
		}
	}
	fmt.Fprintln(out)
}

// printDeletions prints what became of offsets that were to be deleted, sorted by topic and number as text.
func printDeletions(out io.Writer, results map[topicPartition]error) {
	tps := make([]topicPartition, 0, len(results))
	topicLen := 15
	for tp := range results {
		tps = append(tps, tp)
		topicLen = widest(topicLen, tp.Topic)
	}
	slices.SortFunc(tps, func(a, b topicPartition) int {
		return strings.Compare(a.Topic+strconv.Itoa(int(a.Partition)), b.Topic+strconv.Itoa(int(b.Partition)))
	})
	fmt.Fprintf(out, "\n%-*s %-10s %-15s", topicLen, "TOPIC", "PARTITION", "STATUS")
	for _, tp := range tps {
		status, partition := "Successful", missingColumn
		if err := results[tp]; err != nil {
			status = "Error: " + javaToString(err)
		}
		if tp.Partition >= 0 {
			partition = strconv.Itoa(int(tp.Partition))
		}
		fmt.Fprintf(out, "\n%-*s %-10s %-15s", topicLen, tp.Topic, partition, status)
	}
	fmt.Fprintln(out)
}
