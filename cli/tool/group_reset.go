package tool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// resetter finds new offsets for groups, as Kafka's GroupOffsetsResetter.
type resetter struct {
	e     *Env
	admin groupAdmin

	groups     []string // of the command line
	toOffset   int64    // the first of --to-offset
	fromFile   string
	toDatetime string
	byDuration string
	shiftBy    int64
}

// ends are the ends of partitions that have a leader. A topic that is not there is an error.
func (r *resetter) ends(ctx context.Context, tps []topicPartition) (map[topicPartition]int64, error) {
	layouts, err := r.layouts(ctx, tps)
	if err != nil {
		return nil, err
	}
	led := slices.DeleteFunc(slices.Clone(tps), func(tp topicPartition) bool {
		leader, known := layouts[tp.Topic].hasLeader[tp.Partition]
		return known && !leader
	})
	return r.offsets(ctx, led, latestOffset)
}

func (r *resetter) offsets(ctx context.Context, tps []topicPartition, at int64) (map[topicPartition]int64, error) {
	found, err := r.admin.offsets(ctx, tps, at)
	if err != nil {
		if _, topic, unknown := strings.Cut(err.Error(), "because metadata for topic `"); unknown {
			r.e.logError("org.apache.kafka.clients.admin.internals.PartitionLeaderStrategy", "[AdminClient clientId=adminclient-1] Received unknown topic error for topic "+
				strings.TrimSuffix(topic, "` could not be found"), exceptionOf(kerr.UnknownTopicOrPartition.Code, nil))
		}
		return nil, wrapped(classRuntime, err)
	}
	return found, nil
}

func (r *resetter) layouts(ctx context.Context, tps []topicPartition) (map[string]topicLayout, error) {
	var topics []string
	for _, tp := range tps {
		topics = append(topics, tp.Topic)
	}
	topics = javaStringOrder(topics)
	layouts, err := r.admin.topics(ctx, topics)
	for _, t := range topics {
		if err == nil {
			err = layouts[t].err
		}
	}
	if err != nil {
		return nil, wrapped(classRuntime, wrapped(classExecution, err))
	}
	return layouts, nil
}

// partitions are those of --topic arguments.
func (r *resetter) partitions(ctx context.Context, args []string) ([]topicPartition, error) {
	var tps []topicPartition
	var whole []string
	for _, arg := range args {
		if !strings.Contains(arg, ":") {
			whole = append(whole, arg)
			continue
		}
		some, err := parseTopicArg(arg)
		if err != nil {
			return nil, err
		}
		tps = append(tps, some...)
	}
	layouts, err := r.admin.topics(ctx, whole)
	if err != nil {
		return nil, err
	}
	for _, topic := range javaStringOrder(whole) {
		if err := layouts[topic].err; err != nil {
			return nil, err
		}
		tps = append(tps, layouts[topic].partitions(topic)...)
	}
	return javaPartitionOrder(tps), nil
}

// check wants all partitions to exist and to have a leader.
func (r *resetter) check(ctx context.Context, tps []topicPartition) error {
	layouts, err := r.layouts(ctx, tps)
	if err != nil {
		return err
	}
	var absent, leaderless []string
	for _, tp := range tps {
		leader, known := layouts[tp.Topic].hasLeader[tp.Partition]
		if !known {
			absent = append(absent, tp.String())
		} else if !leader {
			leaderless = append(leaderless, tp.String())
		}
	}
	if absent != nil {
		return thrown(errorsPackage+"UnknownTopicOrPartitionException", "The partitions \"%s\" do not exist", strings.Join(absent, ","))
	}
	if leaderless != nil {
		return thrown(errorsPackage+"LeaderNotAvailableException", "The partitions \"%s\" have no leader", strings.Join(leaderless, ","))
	}
	return nil
}

// at gives partitions the offsets of a time: the first record not older, or the end, with a word about it.
func (r *resetter) at(ctx context.Context, tps []topicPartition, at time.Time) ([]groupOffset, error) {
	found, err := r.offsets(ctx, tps, at.UnixMilli())
	if err != nil {
		return nil, err
	}
	var empty []topicPartition
	for _, tp := range tps {
		if found[tp] < 0 {
			r.e.printf("\nWarn: Partition %d from topic %s is empty. Falling back to latest known offset.\n", tp.Partition, tp.Topic)
			empty = append(empty, tp)
		}
	}
	ends, err := r.offsets(ctx, empty, latestOffset)
	if err != nil {
		return nil, err
	}
	for tp, end := range ends {
		found[tp] = end
	}
	return plannedAt(tps, found), nil
}

func plannedAt(tps []topicPartition, at map[topicPartition]int64) []groupOffset {
	plan := make([]groupOffset, 0, len(tps))
	for _, tp := range tps {
		plan = append(plan, groupOffset{topicPartition: tp, Offset: at[tp]})
	}
	return plan
}

// inside keeps wanted offsets in their logs.
func (r *resetter) inside(ctx context.Context, want []groupOffset) ([]groupOffset, error) {
	tps := make([]topicPartition, 0, len(want))
	offsets := make(map[topicPartition]int64, len(want))
	for _, o := range want {
		tps = append(tps, o.topicPartition)
		offsets[o.topicPartition] = o.Offset
	}
	tps = javaPartitionOrder(tps)
	starts, err := r.offsets(ctx, tps, earliestOffset)
	if err != nil {
		return nil, err
	}
	ends, err := r.offsets(ctx, tps, latestOffset)
	if err != nil {
		return nil, err
	}
	for _, tp := range tps {
		offset, warning := clampOffset(tp, offsets[tp], starts[tp], ends[tp])
		if warning != "" {
			r.e.warn("org.apache.kafka.tools.GroupOffsetsResetter", warning)
		}
		offsets[tp] = offset
	}
	return plannedAt(tps, offsets), nil
}

// byShift moves what is committed.
func (r *resetter) byShift(ctx context.Context, tps []topicPartition, committed map[topicPartition]committedOffset) ([]groupOffset, error) {
	var want []groupOffset
	for _, tp := range tps {
		o, ok := committed[tp]
		if !ok {
			return nil, thrown(classIllegalArgument, "Cannot shift offset for partition %v since there is no current committed offset", tp)
		}
		want = append(want, groupOffset{topicPartition: tp, Offset: o.Offset + r.shiftBy})
	}
	return r.inside(ctx, want)
}

// toCurrent keeps what is committed and gives the rest the end.
func (r *resetter) toCurrent(ctx context.Context, tps []topicPartition, committed map[topicPartition]committedOffset) ([]groupOffset, error) {
	var without []topicPartition
	at := make(map[topicPartition]int64, len(tps))
	for _, tp := range tps {
		if o, ok := committed[tp]; ok {
			at[tp] = o.Offset
		} else {
			without = append(without, tp)
		}
	}
	ends, err := r.offsets(ctx, without, latestOffset)
	if err != nil {
		return nil, err
	}
	for tp, end := range ends {
		at[tp] = end
	}
	return plannedAt(tps, at), nil
}

// fromPlan takes the offsets of a group from the file.
func (r *resetter) fromPlan(ctx context.Context, group string) ([]groupOffset, error) {
	data, err := r.e.FS.ReadFile(r.fromFile)
	if err != nil {
		return nil, wrapped(classRuntime, thrown(classIO, "Unable to read file %s", r.fromFile))
	}
	plan, err := parseResetPlan(string(data), r.groups)
	if err != nil {
		return nil, wrapped(classRuntime, err)
	}
	want, ok := plan[group]
	if !ok {
		r.e.printf("\nError: No reset plan for group %s found.\n", group)
		return nil, nil
	}
	return r.inside(ctx, want)
}

// readResetOptions takes what the command line says about new offsets, in Kafka's order.
func (c *consumerGroups) readResetOptions() error {
	r := resetter{e: c.e, admin: c.admin}
	var err error
	first := func(s *joptSpec) (text string) {
		var values []string
		if err == nil {
			values, err = c.set.list(s)
		}
		if err == nil && len(values) > 0 {
			text = values[0]
		}
		return text
	}
	if r.groups, err = c.set.list(c.group); err != nil {
		return err
	}
	if text := first(c.toOffset); text != "" {
		r.toOffset = mustParseLong(text)
	}
	r.fromFile, r.toDatetime = first(c.fromFile), first(c.toDatetime)
	if err != nil {
		return err
	}
	if r.byDuration, err = c.set.value(c.byDuration); err != nil {
		return err
	}
	r.shiftBy, err = c.set.number(c.shiftBy)
	c.reset = r
	return err
}

// resetOffsets plans new offsets for groups without members and commits them if told to.
func (c *consumerGroups) resetOffsets(ctx context.Context) error {
	ids, err := c.groupIDs(ctx)
	if err != nil {
		return err
	}
	found, errs, err := c.admin.describe(ctx, ids)
	if err != nil {
		return wrapped(classRuntime, wrapped(classExecution, err))
	}
	streams, err := c.admin.list(ctx, nil, []string{"Streams"})
	if err != nil {
		return wrapped(classRuntime, wrapped(classExecution, err))
	}
	plans := make([]groupPlan, 0, len(ids))
	for _, id := range ids {
		plan := groupPlan{Group: id}
		g, described := found[id]
		switch {
		case slices.ContainsFunc(streams, func(g groupListing) bool { return g.ID == id }):
			c.printError("Group '" + id + "' is a streams group. Use kafka-streams-groups.sh to reset its offsets.")
		case described && g.State != "Empty" && g.State != "Dead":
			c.printError("Assignments can only be reset if the group '" + id + "' is inactive, but the current state is " + g.State + ".")
		case !described && !isException(errs[id], "GroupIdNotFoundException"):
			return wrapped(classRuntime, wrapped(classExecution, errs[id]))
		default:
			if plan.Offsets, err = c.resetGroup(ctx, id); err != nil {
				return err
			}
		}
		plans = append(plans, plan)
	}
	if !c.has(c.export) {
		printPlans(c.e.Stdout, plans)
		return nil
	}
	for _, p := range plans {
		for _, o := range p.Offsets {
			o.Group = p.Group
			c.e.printf("%s", formatPlanLine(o, len(c.reset.groups) != 1))
		}
	}
	c.e.println()
	return nil
}

// isException tells whether err is the named exception of the protocol.
func isException(err error, name string) bool {
	var x *exception
	return errors.As(err, &x) && x.class == errorsPackage+name
}

func (c *consumerGroups) resetGroup(ctx context.Context, id string) ([]groupOffset, error) {
	tps, err := c.scope(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := c.reset.check(ctx, tps); err != nil {
		return nil, err
	}
	plan, err := c.plan(ctx, id, tps)
	if err != nil || c.has(c.dryRun) || !c.has(c.execute) {
		return plan, err
	}
	return plan, c.admin.commit(ctx, id, plan)
}

// scope are the partitions to reset.
func (c *consumerGroups) scope(ctx context.Context, id string) ([]topicPartition, error) {
	switch {
	case c.has(c.allTopics):
		committed, err := c.committed(ctx, id)
		tps := make([]topicPartition, 0, len(committed))
		for tp := range committed {
			tps = append(tps, tp)
		}
		slices.SortFunc(tps, compareTopicPartitions)
		return javaPartitionOrder(tps), err
	case c.has(c.topic):
		args, err := c.set.list(c.topic)
		if err != nil {
			return nil, err
		}
		return c.reset.partitions(ctx, args)
	case c.has(c.fromFile):
		return nil, nil
	}
	return nil, usageError{thrown(classIllegalArgument, "One of the reset scopes should be defined: --all-topics, --topic.")}
}

func (c *consumerGroups) committed(ctx context.Context, id string) (map[topicPartition]committedOffset, error) {
	committed, err := c.admin.committed(ctx, id)
	if err != nil {
		return nil, wrapped(classRuntime, wrapped(classExecution, err))
	}
	return committed, nil
}

// plan finds the new offsets, in the order of print.
func (c *consumerGroups) plan(ctx context.Context, id string, tps []topicPartition) ([]groupOffset, error) {
	whole := func(at int64) ([]groupOffset, error) {
		found, err := c.reset.offsets(ctx, tps, at)
		return plannedAt(tps, found), err
	}
	switch {
	case c.has(c.toOffset):
		var want []groupOffset
		for _, tp := range tps {
			want = append(want, groupOffset{topicPartition: tp, Offset: c.reset.toOffset})
		}
		return c.reset.inside(ctx, want)
	case c.has(c.toEarliest):
		return whole(earliestOffset)
	case c.has(c.toLatest):
		return whole(latestOffset)
	case c.has(c.toDatetime):
		at, err := parseDateTime(c.reset.toDatetime)
		if err != nil {
			return nil, wrapped(classRuntime, err)
		}
		return c.reset.at(ctx, tps, at)
	case c.has(c.byDuration):
		d, err := parseDuration(c.reset.byDuration)
		if err != nil {
			return nil, err
		}
		return c.reset.at(ctx, tps, c.e.Clock.Wall().Add(-d))
	case c.has(c.fromFile):
		return c.reset.fromPlan(ctx, id)
	case c.set.hasAny(c.shiftBy, c.toCurrent):
		committed, err := c.committed(ctx, id)
		if err != nil {
			return nil, err
		}
		if c.has(c.shiftBy) {
			return c.reset.byShift(ctx, tps, committed)
		}
		return c.reset.toCurrent(ctx, tps, committed)
	}
	var names []string
	for _, s := range javaMapOrder(c.scenarios(), func(s *joptSpec) int32 { return 31 + javaStringHash(s.names[0]) }) {
		names = append(names, s.String())
	}
	return nil, usageError{thrown(classIllegalArgument, "Option '%v' requires one of the following scenarios: [%s]", c.consumerGroupOptions.reset, strings.Join(names, ", "))}
}
