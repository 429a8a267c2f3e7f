package tool

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
)

func consumerGroupsTool() Tool {
	return Tool{"kafka-consumer-groups", "list, describe and delete consumer groups, reset their offsets", runConsumerGroups}
}

// consumerGroups is one call of kafka-consumer-groups.
type consumerGroups struct {
	*consumerGroupOptions
	e     *Env
	admin groupAdmin
	reset resetter
}

// usageError is an error that Kafka's tool answers with its table of options.
type usageError struct{ error }

func runConsumerGroups(ctx context.Context, e *Env) int {
	c := consumerGroups{consumerGroupOptions: newConsumerGroupOptions(), e: e}
	if err := c.parse(e.Args); err != nil {
		return e.uncaught(err)
	}
	switch {
	case len(e.Args) == 0 || c.has(c.help):
		return c.parser.usage(e, "This tool helps to list, describe, delete and manage the offsets of consumer groups.")
	case c.has(c.version):
		return e.printVersion()
	}
	if message := c.check(e); message != "" {
		return c.parser.usage(e, message)
	}
	err := c.run(ctx)
	var wrong usageError
	if isIllegalArgument(err) || errors.As(err, &wrong) {
		return c.parser.usage(e, err.Error())
	}
	if err != nil {
		c.printError("Executing consumer group command failed due to " + err.Error())
		e.errorf("%s\n", javaToString(err))
	}
	return 0 // as Kafka's, whatever went wrong with the call
}

func isIllegalArgument(err error) bool {
	var x *exception
	return errors.As(err, &x) && x.class == classIllegalArgument
}

func (c *consumerGroups) printError(message string) { c.e.printf("\nError: %s\n", message) }

func (c *consumerGroups) run(ctx context.Context) error {
	if c.has(c.validateRegex) {
		return c.checkRegex()
	}
	config, err := c.set.value(c.config)
	if err != nil {
		return err
	}
	bootstrap, err := c.set.value(c.bootstrap)
	if err != nil {
		return err
	}
	props, err := c.e.loadProperties(config)
	if err != nil {
		return wrapped(classRuntime, err)
	}
	props[propBootstrap] = bootstrap
	client, err := c.e.connectAdmin(props)
	if err != nil {
		return err
	}
	defer client.Close()
	c.admin = groupAdmin{client.Client}
	if err := c.readResetOptions(); err != nil {
		return err
	}
	timeout, err := c.set.number(c.timeout)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(timeout)*time.Millisecond)
	defer cancel()
	switch {
	case c.has(c.list):
		return c.listGroups(ctx)
	case c.has(c.describe):
		return c.describeGroups(ctx)
	case c.has(c.delete):
		return c.deleteGroups(ctx)
	case c.has(c.consumerGroupOptions.reset):
		return c.resetOffsets(ctx)
	}
	return c.deleteOffsetsOf(ctx)
}

func (c *consumerGroups) checkRegex() error {
	regex, err := c.set.value(c.validateRegex)
	if err != nil {
		return err
	}
	if _, err := regexp.Compile(regex); err != nil {
		c.e.printf("The regular expression `%s` is invalid: %s.\n", regex, re2Error(err))
		return nil
	}
	c.e.printf("The regular expression `%s` is valid.\n", regex)
	return nil
}

// groupIDs are the groups that the command line names.
func (c *consumerGroups) groupIDs(ctx context.Context) ([]string, error) {
	if !c.has(c.allGroups) {
		ids, err := c.set.list(c.group)
		return javaStringOrder(ids), err
	}
	return c.everyID(ctx)
}

func (c *consumerGroups) everyID(ctx context.Context) ([]string, error) {
	groups, err := c.admin.listConsumers(ctx, nil, []string{"Classic", "Consumer"})
	if err != nil {
		return nil, wrapped(classRuntime, wrapped(classExecution, err))
	}
	ids := make([]string, 0, len(groups))
	for _, g := range groups {
		ids = append(ids, g.ID)
	}
	return ids, nil
}

func (c *consumerGroups) listGroups(ctx context.Context) error {
	withType, withState := c.has(c.typ), c.has(c.state)
	if !withType && !withState {
		ids, err := c.everyID(ctx)
		for _, id := range ids {
			c.e.println(id)
		}
		return err
	}
	filter := func(s *joptSpec, kind string, valid []string) ([]string, error) {
		text, err := c.set.value(s)
		if err != nil {
			return nil, err
		}
		return parseGroupFilter(text, kind, valid)
	}
	types, err := filter(c.typ, "types", consumerGroupTypes)
	if err != nil {
		return err
	}
	states, err := filter(c.state, "state", consumerGroupStates)
	if err != nil {
		return err
	}
	groups, err := c.admin.listConsumers(ctx, states, types)
	if err != nil {
		return wrapped(classExecution, err)
	}
	printListing(c.e.Stdout, groups, withType, withState)
	return nil
}

func (c *consumerGroups) describeGroups(ctx context.Context) error {
	ids, err := c.groupIDs(ctx)
	if err != nil {
		return err
	}
	found, errs, err := c.admin.describe(ctx, ids)
	if err != nil {
		return wrapped(classExecution, err)
	}
	for _, id := range ids {
		if err := errs[id]; err != nil {
			return wrapped(classExecution, err)
		}
	}
	slices.SortFunc(ids, strings.Compare)
	rows := make(map[string][]offsetRow)
	if !c.set.hasAny(c.members, c.state) {
		for _, id := range ids {
			if rows[id], err = c.offsetRows(ctx, found[id]); err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		g := found[id]
		verbose := c.has(c.verbose)
		switch {
		case c.has(c.members):
			fit, err := c.worthPrinting(g, len(g.Members))
			if err != nil {
				return err
			}
			printMembers(c.e.Stdout, g, verbose, fit)
		case c.has(c.state):
			if ok, err := c.worthPrinting(g, 1); err != nil {
				return err
			} else if ok {
				printState(c.e.Stdout, g, verbose)
			}
		default:
			if ok, err := c.worthPrinting(g, len(rows[id])); err != nil {
				return err
			} else if ok {
				printOffsets(c.e.Stdout, id, rows[id], verbose)
			}
		}
	}
	return nil
}

// worthPrinting tells what is to be known of a group's state, and whether anything else is there to print.
func (c *consumerGroups) worthPrinting(g groupDescription, rows int) (bool, error) {
	switch g.State {
	case "Dead":
		c.printError("Consumer group '" + g.ID + "' does not exist.")
	case "Empty":
		c.e.errorf("\nConsumer group '%s' has no active members.\n", g.ID)
	case "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling":
		c.e.errorf("\nWarning: Consumer group '%s' is rebalancing.\n", g.ID)
	case "Stable":
	default:
		return false, thrown(classKafka, "Expected a valid consumer group state, but found '%s'.", g.State)
	}
	return g.State != "Dead" && rows > 0, nil
}

// offsetRows are the lines of a group: members with most partitions first, then what nobody has.
func (c *consumerGroups) offsetRows(ctx context.Context, g groupDescription) ([]offsetRow, error) {
	committed, err := c.admin.committed(ctx, g.ID)
	if err != nil {
		return nil, wrapped(classRuntime, wrapped(classExecution, err))
	}
	members := slices.DeleteFunc(slices.Clone(g.Members), func(m groupMember) bool { return len(m.Assigned) == 0 })
	slices.SortStableFunc(members, func(a, b groupMember) int { return len(b.Assigned) - len(a.Assigned) })
	assigned := make(map[topicPartition]bool)
	var rows []offsetRow
	add := func(tps []topicPartition, consumer, host, client string) error {
		ends, err := c.reset.ends(ctx, tps)
		if err != nil {
			return err
		}
		slices.SortFunc(tps, compareTopicPartitions)
		for _, tp := range tps {
			row := offsetRow{topicPartition: tp, known: true, Consumer: consumer, Host: host, Client: client}
			if o, ok := committed[tp]; ok {
				row.Offset = decimal(o.Offset)
				if o.LeaderEpoch >= 0 {
					row.LeaderEpoch = decimal(o.LeaderEpoch)
				}
			}
			if end, ok := ends[tp]; ok {
				row.End = decimal(end)
			}
			rows = append(rows, row)
		}
		return nil
	}
	for _, m := range members {
		for _, tp := range m.Assigned {
			assigned[tp] = true
		}
		if err := add(slices.Clone(m.Assigned), m.ID, m.Host, m.ClientID); err != nil {
			return nil, err
		}
	}
	var left []topicPartition
	for tp := range committed {
		if !assigned[tp] {
			left = append(left, tp)
		}
	}
	if len(left) == 0 {
		return rows, nil
	}
	return rows, add(left, "", "", "")
}

func (c *consumerGroups) deleteGroups(ctx context.Context) error {
	ids, err := c.groupIDs(ctx)
	if err != nil {
		return err
	}
	results := c.admin.deleteGroups(ctx, ids)
	var done, failed []string
	for _, id := range ids {
		if results[id] == nil {
			done = append(done, "'"+id+"'")
		} else {
			failed = append(failed, id)
		}
	}
	deleted := strings.Join(done, ", ")
	if len(failed) == 0 {
		c.e.printf("Deletion of requested consumer groups (%s) was successful.\n", deleted)
		return nil
	}
	c.printError("Deletion of some consumer groups failed:")
	for _, id := range failed {
		c.e.printf("* Group '%s' could not be deleted due to: %s\n", id, javaToString(results[id]))
	}
	if len(done) > 0 {
		c.e.printf("\nThese consumer groups were deleted successfully: %s\n", deleted)
	}
	return nil
}

func (c *consumerGroups) deleteOffsetsOf(ctx context.Context) error {
	group, err := c.set.value(c.group)
	if err != nil {
		return err
	}
	topics, err := c.set.list(c.topic)
	if err != nil {
		return err
	}
	var tps []topicPartition
	var whole []string
	for _, topic := range topics {
		if !strings.Contains(topic, ":") {
			whole = append(whole, topic)
			continue
		}
		some, err := parseTopicArg(topic)
		if err != nil {
			return err
		}
		tps = append(tps, some...)
	}
	results := make(map[topicPartition]error)
	layouts, err := c.admin.topics(ctx, whole)
	if err != nil {
		return err
	}
	for _, topic := range javaStringOrder(whole) {
		if err := layouts[topic].err; err != nil {
			results[topicPartition{topic, -1}] = err
			continue
		}
		tps = append(tps, layouts[topic].partitions(topic)...)
	}
	tps = javaPartitionOrder(tps)
	deleted, top := c.admin.deleteOffsets(ctx, group, tps)
	for _, tp := range tps {
		results[tp] = deleted[tp]
		if top != nil && deleted == nil {
			results[tp] = top
		}
	}
	for _, tp := range tps {
		if top == nil {
			top = results[tp]
		}
	}
	c.printDeletion(group, top)
	printDeletions(c.e.Stdout, results)
	return nil
}

// printDeletion tells how the whole call went.
func (c *consumerGroups) printDeletion(group string, err error) {
	var x *exception
	if err == nil || !errors.As(err, &x) {
		c.e.printf("Request succeeded for deleting offsets from group %s.\n", group)
		return
	}
	switch strings.TrimPrefix(x.class, errorsPackage) {
	case "InvalidGroupIdException", "GroupIdNotFoundException", "GroupAuthorizationException", "GroupNotEmptyException":
		c.printError(x.message)
	case "GroupSubscribedToTopicException", "TopicAuthorizationException", "UnknownTopicOrPartitionException":
		c.printError("Encountered some partition-level error, see the follow-up details.")
	default:
		c.printError("Encountered some unknown error: " + errorName(x.class))
	}
}
