package tool

import "strings"

// aclsOptions are the options of kafka-acls.
type aclsOptions struct {
	joptCommand
	bootstrap, controller, commandConfig                   *joptSpec
	topic, cluster, group, transactionalID                 *joptSpec
	idempotent, delegationToken, patternType               *joptSpec
	add, remove, list, operations                          *joptSpec
	allowPrincipals, denyPrincipals, principals            *joptSpec
	allowHosts, denyHosts, producer, consumer, force, user *joptSpec
}

func newAclsOptions() *aclsOptions {
	o := &aclsOptions{joptCommand: newJoptCommand()}
	p := o.parser
	const servers = "A list of host/port pairs to use for establishing the connection to the Kafka cluster. This list should be in the form host1:port1,host2:port2,... " +
		"This config is required for acl management using admin client API."
	o.bootstrap = p.option("bootstrap-server", servers).withRequiredArg().describedAs("server to connect to")
	o.controller = p.option("bootstrap-controller", servers).withRequiredArg().describedAs("controller to connect to")
	o.commandConfig = p.option("command-config", "A property file containing configs to be passed to Admin Client.").withOptionalArg().describedAs("command-config")
	o.topic = p.option("topic", "topic to which ACLs should be added or removed. A value of '*' indicates ACL should apply to all topics.").withRequiredArg().describedAs("topic")
	o.cluster = p.option("cluster", "Add/Remove cluster ACLs.")
	o.group = p.option("group", "Consumer Group to which the ACLs should be added or removed. A value of '*' indicates the ACLs should apply to all groups.").
		withRequiredArg().describedAs("group")
	o.transactionalID = p.option("transactional-id", "The transactionalId to which ACLs should be added or removed. A value of '*' indicates the ACLs should apply to all "+
		"transactionalIds.").withRequiredArg().describedAs("transactional-id")
	o.idempotent = p.option("idempotent", "Enable idempotence for the producer. This should be used in combination with the --producer option. Note that idempotence is "+
		"enabled automatically if the producer is authorized to a particular transactional-id.")
	o.delegationToken = p.option("delegation-token", "Delegation token to which ACLs should be added or removed. A value of '*' indicates ACL should apply to all tokens.").
		withRequiredArg().describedAs("delegation-token")
	o.patternType = p.option("resource-pattern-type", "The type of the resource pattern or pattern filter. When adding acls, this should be a specific pattern type, e.g. "+
		"'literal' or 'prefixed'. When listing or removing acls, a specific pattern type can be used to list or remove acls from specific resource patterns, or use the "+
		"filter values of 'any' or 'match', where 'any' will match any pattern type, but will match the resource name exactly, where as 'match' will perform pattern "+
		"matching to list or remove all acls that affect the supplied resource(s). WARNING: 'match', when used in combination with the '--remove' switch, should be used "+
		"with care.").withRequiredArg().oneOf("ANY", "MATCH", "LITERAL", "PREFIXED").defaultsTo("LITERAL")
	o.patternType.typ = "ANY|MATCH|LITERAL|PREFIXED"
	o.add = p.option("add", "Indicates you are trying to add ACLs.")
	o.remove = p.option("remove", "Indicates you are trying to remove ACLs.")
	o.list = p.option("list", "List ACLs for the specified resource, use --topic <topic> or --group <group> or --cluster to specify a resource.")
	o.operations = p.option("operation", "Operation that is being allowed or denied. Valid operation names are: \n"+operationLines()+"\n").withRequiredArg().defaultsTo("All")
	o.allowPrincipals = p.option("allow-principal", "principal is in principalType:name format. Note that principalType must be supported by the Authorizer being used. "+
		"For example, User:'*' is the wild card indicating all users.").withRequiredArg().describedAs("allow-principal")
	o.denyPrincipals = p.option("deny-principal", "principal is in principalType:name format. By default anyone not added through --allow-principal is denied access. "+
		"You only need to use this option as negation to already allowed set. Note that principalType must be supported by the Authorizer being used. For example if you "+
		"wanted to allow access to all users in the system but not test-user you can define an ACL that allows access to User:'*' and specify "+
		"--deny-principal=User:test@EXAMPLE.COM. AND PLEASE REMEMBER DENY RULES TAKES PRECEDENCE OVER ALLOW RULES.").withRequiredArg().describedAs("deny-principal")
	o.principals = p.option("principal", "List ACLs for the specified principal. principal is in principalType:name format. Note that principalType must be supported by "+
		"the Authorizer being used. Multiple --principal option can be passed.").withOptionalArg().describedAs("principal")
	o.allowHosts = p.option("allow-host", "Host from which principals listed in --allow-principal will have access. If you have specified --allow-principal then the "+
		"default for this option will be set to '*' which allows access from all hosts.").withRequiredArg().describedAs("allow-host")
	o.denyHosts = p.option("deny-host", "Host from which principals listed in --deny-principal will be denied access. If you have specified --deny-principal then the "+
		"default for this option will be set to '*' which denies access from all hosts.").withRequiredArg().describedAs("deny-host")
	o.producer = p.option("producer", "Convenience option to add/remove ACLs for producer role. This will generate ACLs that allows WRITE,DESCRIBE and CREATE on topic.")
	o.consumer = p.option("consumer", "Convenience option to add/remove ACLs for consumer role. This will generate ACLs that allows READ,DESCRIBE on topic and READ on group.")
	o.force = p.option("force", "Assume Yes to all queries and do not prompt.")
	o.user = p.option("user-principal", "Specifies a user principal as a resource in relation with the operation. For instance one could grant CreateTokens or "+
		"DescribeTokens permission on a given user principal.").withRequiredArg().describedAs("user-principal")
	return o
}

// operationLines lists the operations that ACLs have. Kafka's order is that of a hash set, another one each time.
func operationLines() string {
	var lines []string
	for _, op := range aclOperations {
		lines = append(lines, "\t"+op.camel)
	}
	return strings.Join(lines, "\n")
}

// check is AclCommandOptions.checkArgs.
func (o *aclsOptions) check() error {
	if o.has(o.bootstrap) && o.has(o.controller) {
		return wrongUse{"Only one of --bootstrap-server or --bootstrap-controller must be specified"}
	}
	if !o.hasAny(o.bootstrap, o.controller) {
		return wrongUse{"One of --bootstrap-server or --bootstrap-controller must be specified"}
	}
	actions := 0
	for _, s := range []*joptSpec{o.add, o.remove, o.list} {
		if o.has(s) {
			actions++
		}
	}
	if actions != 1 {
		return wrongUse{"Command must include exactly one action: --list, --add, --remove. "}
	}
	if err := first(
		o.forbid(o.list, o.producer, o.consumer, o.allowHosts, o.allowPrincipals, o.denyHosts, o.denyPrincipals),
		o.forbid(o.producer, o.operations, o.denyPrincipals, o.denyHosts),
		o.forbid(o.consumer, o.operations, o.denyPrincipals, o.denyHosts),
	); err != nil {
		return err
	}
	switch {
	case o.has(o.principals) && !o.has(o.list):
		return wrongUse{"The --principal option is only available if --list is set"}
	case o.has(o.producer) && !o.has(o.topic):
		return wrongUse{"With --producer you must specify a --topic"}
	case o.has(o.idempotent) && !o.has(o.producer):
		return wrongUse{"The --idempotent option is only available if --producer is set"}
	case o.has(o.consumer) && (!o.has(o.topic) || !o.has(o.group) || !o.has(o.producer) && o.hasAny(o.cluster, o.transactionalID)):
		return wrongUse{"With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option should be specified."}
	}
	return nil
}
