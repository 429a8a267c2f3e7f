package tool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func aclsTool() Tool {
	return Tool{"kafka-acls", "show, add and remove access rules", runAcls}
}

// aclOperation is an operation as ACLs name it.
type aclOperation struct {
	number kmsg.ACLOperation
	camel  string // of options
	name   string // Kafka's AclOperation
}

var aclOperations = []aclOperation{
	{6, "Delete", "DELETE"}, {10, "DescribeConfigs", "DESCRIBE_CONFIGS"}, {11, "AlterConfigs", "ALTER_CONFIGS"}, {4, "Write", "WRITE"}, {9, "ClusterAction", "CLUSTER_ACTION"},
	{5, "Create", "CREATE"}, {15, "TwoPhaseCommit", "TWO_PHASE_COMMIT"}, {12, "IdempotentWrite", "IDEMPOTENT_WRITE"}, {14, "DescribeTokens", "DESCRIBE_TOKENS"},
	{7, "Alter", "ALTER"}, {3, "Read", "READ"}, {8, "Describe", "DESCRIBE"}, {2, "All", "ALL"}, {13, "CreateTokens", "CREATE_TOKENS"},
}

// unknownOperation is what Kafka makes of a name that it does not know.
var unknownOperation = aclOperation{0, "Unknown", "UNKNOWN"}

func operationNamed(text string) aclOperation {
	for _, op := range aclOperations {
		if op.camel == text || op.name == strings.ToUpper(text) {
			return op
		}
	}
	return unknownOperation
}

func operationNumbered(n kmsg.ACLOperation) aclOperation {
	for _, op := range aclOperations {
		if op.number == n {
			return op
		}
	}
	return unknownOperation
}

// aclResource is a kind of resource, with the operations there are on it.
type aclResource struct {
	number     kmsg.ACLResourceType
	name       string
	operations string
}

var aclResources = []aclResource{
	{2, "TOPIC", "DESCRIBE DELETE DESCRIBE_CONFIGS ALTER_CONFIGS WRITE CREATE ALL ALTER READ"},
	{3, "GROUP", "DESCRIBE DELETE DESCRIBE_CONFIGS ALTER_CONFIGS ALL READ"},
	{4, "CLUSTER", "DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS CLUSTER_ACTION CREATE ALL IDEMPOTENT_WRITE ALTER"},
	{5, "TRANSACTIONAL_ID", "DESCRIBE WRITE TWO_PHASE_COMMIT ALL"},
	{6, "DELEGATION_TOKEN", "DESCRIBE ALL"},
	{7, "USER", "CREATE_TOKENS DESCRIBE_TOKENS ALL"},
}

func resourceNumbered(n kmsg.ACLResourceType) aclResource {
	i := slices.IndexFunc(aclResources, func(r aclResource) bool { return r.number == n })
	if i < 0 {
		return aclResource{n, "UNKNOWN", ""}
	}
	return aclResources[i]
}

// aclPatterns are the names of the types of patterns by their number.
var aclPatterns = []string{"UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"}

// aclPattern is what ACLs are of: resources by name.
type aclPattern struct {
	kind    kmsg.ACLResourceType
	name    string
	pattern kmsg.ACLResourcePatternType
}

func (p aclPattern) String() string {
	return fmt.Sprintf("ResourcePattern(resourceType=%s, name=%s, patternType=%s)", resourceNumbered(p.kind).name, p.name, aclPatterns[p.pattern])
}

// aclEntry is who may or may not do what from where.
type aclEntry struct {
	principal, host string
	operation       aclOperation
	allow           bool
}

func (a aclEntry) permission() string {
	if a.allow {
		return "ALLOW"
	}
	return "DENY"
}

func (a aclEntry) String() string {
	return fmt.Sprintf("(principal=%s, host=%s, operation=%s, permissionType=%s)", a.principal, a.host, a.operation.name, a.permission())
}

// Permissions on the wire.
const (
	aclDeny  kmsg.ACLPermissionType = 2
	aclAllow kmsg.ACLPermissionType = 3
	aclAny                          = 1 // of permissions, operations and resources in filters
)

func (a aclEntry) permissionNumber() kmsg.ACLPermissionType {
	if a.allow {
		return aclAllow
	}
	return aclDeny
}

// aclSet are the entries for a pattern.
type aclSet struct {
	pattern aclPattern
	entries []aclEntry
}

func aclLines(entries []aclEntry) string {
	lines := make([]string, len(entries))
	for i, a := range entries {
		lines[i] = "\t" + a.String()
	}
	return strings.Join(lines, "\n")
}

// acls is one call of kafka-acls.
type acls struct {
	*aclsOptions
	e *Env
	c *cluster
}

func runAcls(ctx context.Context, e *Env) int {
	o := acls{aclsOptions: newAclsOptions(), e: e}
	if err := o.read(e.Args); err != nil {
		return o.parser.usage(e, javaMessage(err))
	}
	err := first(o.helpOrVersion(e.Args, "This tool helps to manage acls on kafka."))
	if err == nil {
		err = o.check()
	}
	if err == nil {
		err = o.run(ctx)
	}
	if code, yes := o.ended(e, err); yes {
		return code
	}
	if err != nil {
		e.printf("Error while executing ACL command: %s\n%s\n\n", javaMessage(err), javaToString(err))
		return 1
	}
	return 0
}

func (o *acls) run(ctx context.Context) error {
	var wanted []aclSet
	var err error
	if o.has(o.add) {
		if wanted, err = o.toAdd(); err != nil {
			return err
		}
	}
	if err := o.connect(); err != nil {
		return err
	}
	defer o.c.Close()
	switch {
	case o.has(o.add):
		return o.runAdd(ctx, wanted)
	case o.has(o.remove):
		return o.runRemove(ctx)
	}
	return o.runList(ctx)
}

func (o *acls) connect() error {
	file, err := o.value(o.commandConfig)
	if err != nil {
		return err
	}
	props, err := o.e.loadProperties(file)
	if err != nil {
		return err
	}
	property, spec := propBootstrap, o.bootstrap
	if !o.has(o.bootstrap) {
		property, spec = propControllers, o.aclsOptions.controller
	}
	if props[property], err = o.value(spec); err != nil {
		return err
	}
	if o.c, err = o.e.connectAdmin(props); err != nil {
		return err
	}
	return nil
}

// patternNumber is --resource-pattern-type.
func (o *acls) patternNumber() (kmsg.ACLResourcePatternType, error) {
	text, err := o.value(o.patternType)
	return kmsg.ACLResourcePatternType(slices.Index(aclPatterns, strings.ToUpper(text))), err
}

const (
	patternLiteral kmsg.ACLResourcePatternType = 3
	clusterName                                = "kafka-cluster"
)

var clusterPattern = aclPattern{4, clusterName, patternLiteral}

// patterns are the resources that the options name.
func (o *acls) patterns() ([]aclPattern, error) {
	pattern, err := o.patternNumber()
	if err != nil {
		return nil, err
	}
	var out []aclPattern
	add := func(p aclPattern) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	of := func(kind kmsg.ACLResourceType, s *joptSpec) {
		for _, name := range o.values[s] {
			add(aclPattern{kind, strings.TrimSpace(name), pattern})
		}
	}
	of(2, o.topic)
	if pattern == patternLiteral && o.hasAny(o.cluster, o.idempotent) {
		add(clusterPattern)
	}
	of(3, o.group)
	of(5, o.transactionalID)
	of(6, o.delegationToken)
	of(7, o.user)
	return out, nil
}

func (o *acls) mustPatterns() ([]aclPattern, error) {
	patterns, err := o.patterns()
	if err == nil && len(patterns) == 0 {
		err = wrongUse{"You must provide at least one resource: --topic <topic> or --cluster or --group <group> or --delegation-token <Delegation Token ID>"}
	}
	return patterns, err
}

// parsePrincipals reads options of principals.
func (o *acls) parsePrincipals(s *joptSpec) ([]string, error) {
	var out []string
	for _, text := range o.values[s] {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil, illegal("expected a string in format principalType:principalName but got null or empty string")
		}
		kind, name, ok := strings.Cut(text, ":")
		if !ok || kind == "" || name == "" {
			return nil, illegal("expected a string in format principalType:principalName but got %s", text)
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, nil
}

// entries are the rules that the options ask for, of these operations.
func (o *acls) entries(operations ...string) ([]aclEntry, error) {
	if len(operations) == 0 {
		list, err := o.joptSet.list(o.operations)
		if err != nil {
			return nil, err
		}
		operations = list
	}
	var out []aclEntry
	for _, kind := range []struct {
		principals, hosts *joptSpec
		allow             bool
	}{{o.allowPrincipals, o.allowHosts, true}, {o.denyPrincipals, o.denyHosts, false}} {
		principals, err := o.parsePrincipals(kind.principals)
		if err != nil {
			return nil, err
		}
		hosts := o.values[kind.hosts]
		if len(hosts) == 0 {
			hosts = []string{"*"}
		}
		for _, p := range principals {
			for _, op := range operations {
				for _, host := range hosts {
					a := aclEntry{p, strings.TrimSpace(host), operationNamed(strings.TrimSpace(op)), kind.allow}
					if !slices.Contains(out, a) {
						out = append(out, a)
					}
				}
			}
		}
	}
	return out, nil
}

// sets are the rules by resource that --add and --remove ask for.
func (o *acls) sets() ([]aclSet, error) {
	patterns, err := o.mustPatterns()
	if err != nil {
		return nil, err
	}
	var out []aclSet
	add := func(p aclPattern, operations ...string) {
		entries, e := o.entries(operations...)
		err = first(err, e)
		if i := slices.IndexFunc(out, func(s aclSet) bool { return s.pattern == p }); i >= 0 {
			for _, a := range entries {
				if !slices.Contains(out[i].entries, a) {
					out[i].entries = append(out[i].entries, a)
				}
			}
			return
		}
		out = append(out, aclSet{p, entries})
	}
	for _, p := range patterns {
		if !o.hasAny(o.producer, o.consumer) {
			add(p)
			continue
		}
		if o.has(o.producer) {
			switch p.kind {
			case 2:
				add(p, "WRITE", "DESCRIBE", "CREATE")
			case 5:
				add(p, "WRITE", "DESCRIBE")
			}
		}
		if o.has(o.consumer) {
			switch p.kind {
			case 2:
				add(p, "READ", "DESCRIBE")
			case 3:
				add(p, "READ")
			}
		}
	}
	if o.has(o.producer) && o.has(o.idempotent) {
		add(clusterPattern, "IDEMPOTENT_WRITE")
	}
	if err != nil {
		return nil, err
	}
	return out, validOperations(out)
}

// validOperations refuses operations that a resource does not have.
func validOperations(sets []aclSet) error {
	for _, s := range sets {
		valid := strings.Fields(resourceNumbered(s.pattern.kind).operations)
		for _, a := range s.entries {
			if !slices.Contains(valid, a.operation.name) {
				return wrongUse{fmt.Sprintf("ResourceType %s only supports operations [%s]", resourceNumbered(s.pattern.kind).name, strings.Join(valid, ", "))}
			}
		}
	}
	return nil
}

func (o *acls) toAdd() ([]aclSet, error) {
	pattern, err := o.patternNumber()
	if err != nil {
		return nil, err
	}
	if pattern < patternLiteral {
		return nil, wrongUse{fmt.Sprintf("A '--resource-pattern-type' value of '%s' is not valid when adding acls.", aclPatterns[pattern])}
	}
	sets, err := o.sets()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(sets, func(s aclSet) bool { return len(s.entries) == 0 }) {
		return nil, wrongUse{"You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."}
	}
	return sets, nil
}

func (o *acls) runAdd(ctx context.Context, sets []aclSet) error {
	for _, s := range sets {
		there, err := o.find(ctx, s.pattern)
		if err != nil {
			return err
		}
		var missing []aclEntry
		for _, a := range s.entries {
			if slices.ContainsFunc(there, func(t aclSet) bool { return t.pattern == s.pattern && slices.Contains(t.entries, a) }) {
				o.e.printf("Acl (pattern=%s, entry=%s) already exists.\n", s.pattern, a)
			} else {
				missing = append(missing, a)
			}
		}
		if len(missing) == 0 {
			continue
		}
		o.e.printf("Adding ACLs for resource `%s`: \n %s\n\n", s.pattern, aclLines(missing))
		req := kmsg.NewPtrCreateACLsRequest()
		for _, a := range missing {
			c := kmsg.NewCreateACLsRequestCreation()
			c.ResourceType, c.ResourceName, c.ResourcePatternType = s.pattern.kind, s.pattern.name, s.pattern.pattern
			c.Principal, c.Host, c.Operation, c.PermissionType = a.principal, a.host, a.operation.number, a.permissionNumber()
			req.Creations = append(req.Creations, c)
		}
		resp, err := o.c.callLeader(ctx, o.e, "createAcls", req)
		if err == nil {
			for _, r := range resp.(*kmsg.CreateACLsResponse).Results {
				err = first(err, exceptionOf(r.ErrorCode, r.ErrorMessage))
			}
		}
		if err != nil {
			return asExecution(err)
		}
	}
	return nil
}

// find are the rules that a filter of resources fits.
func (o *acls) find(ctx context.Context, p aclPattern) ([]aclSet, error) {
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = p.kind, p.pattern, aclAny, aclAny
	if p.kind != aclAny {
		req.ResourceName = kmsg.StringPtr(p.name)
	}
	resp, err := o.c.callLeader(ctx, o.e, "describeAcls", req)
	if err != nil {
		return nil, asExecution(err)
	}
	r := resp.(*kmsg.DescribeACLsResponse)
	if err := exceptionOf(r.ErrorCode, r.ErrorMessage); err != nil {
		return nil, asExecution(err)
	}
	var out []aclSet
	for _, resource := range r.Resources {
		s := aclSet{pattern: aclPattern{resource.ResourceType, resource.ResourceName, resource.ResourcePatternType}}
		for _, a := range resource.ACLs {
			s.entries = append(s.entries, aclEntry{a.Principal, a.Host, operationNumbered(a.Operation), a.PermissionType == aclAllow})
		}
		out = append(out, s)
	}
	return out, nil
}

func (o *acls) runList(ctx context.Context) error {
	patterns, err := o.patterns()
	if err != nil {
		return err
	}
	principals, err := o.parsePrincipals(o.principals)
	if err != nil {
		return err
	}
	if len(patterns) == 0 {
		patterns = []aclPattern{{kind: aclAny, pattern: aclAny}}
	}
	var found []aclSet
	for _, p := range patterns {
		sets, err := o.find(ctx, p)
		if err != nil {
			return err
		}
		for _, s := range sets {
			if !slices.ContainsFunc(found, func(f aclSet) bool { return f.pattern == s.pattern }) {
				found = append(found, s)
			}
		}
	}
	if len(principals) == 0 {
		o.print(found, func(aclEntry) bool { return true })
	}
	for _, principal := range principals {
		o.e.printf("ACLs for principal `%s`\n", principal)
		o.print(found, func(a aclEntry) bool { return a.principal == principal })
	}
	return nil
}

func (o *acls) print(sets []aclSet, wanted func(aclEntry) bool) {
	for _, s := range sets {
		entries := slices.DeleteFunc(slices.Clone(s.entries), func(a aclEntry) bool { return !wanted(a) })
		if len(entries) > 0 {
			o.e.printf("Current ACLs for resource `%s`:\n%s\n\n", s.pattern, aclLines(entries))
		}
	}
}

func (o *acls) runRemove(ctx context.Context) error {
	sets, err := o.sets()
	if err != nil {
		return err
	}
	answers := bufio.NewReader(o.e.Stdin)
	for _, s := range sets {
		question := fmt.Sprintf("Are you sure you want to delete all ACLs for resource filter `%s`? (y/n)", s.pattern)
		if len(s.entries) > 0 {
			question = fmt.Sprintf("Are you sure you want to remove ACLs: \n %s\n from resource filter `%s`? (y/n)", aclLines(s.entries), s.pattern)
		}
		yes, err := o.confirm(question, answers)
		if err != nil {
			return err
		}
		if yes {
			if err := o.delete(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirm asks for a yes. Kafka's tool asks a terminal only; without an answer it fails as that does.
func (o *acls) confirm(question string, answers *bufio.Reader) (bool, error) {
	if o.has(o.force) {
		return true, nil
	}
	o.e.println(question)
	line, err := answers.ReadString('\n')
	if err == io.EOF && line == "" {
		return false, thrown("java.lang.NullPointerException", "Cannot invoke \"java.io.Console.readLine()\" because the return value of \"java.lang.System.console()\" is null")
	}
	return strings.EqualFold(strings.TrimRight(line, "\r\n"), "y"), nil
}

func (o *acls) delete(ctx context.Context, s aclSet) error {
	req := kmsg.NewPtrDeleteACLsRequest()
	filter := func() kmsg.DeleteACLsRequestFilter {
		f := kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourceName, f.ResourcePatternType = s.pattern.kind, kmsg.StringPtr(s.pattern.name), s.pattern.pattern
		f.Operation, f.PermissionType = aclAny, aclAny
		return f
	}
	for _, a := range s.entries {
		f := filter()
		f.Principal, f.Host, f.Operation, f.PermissionType = kmsg.StringPtr(a.principal), kmsg.StringPtr(a.host), a.operation.number, a.permissionNumber()
		req.Filters = append(req.Filters, f)
	}
	if len(s.entries) == 0 {
		req.Filters = append(req.Filters, filter())
	}
	resp, err := o.c.callLeader(ctx, o.e, "deleteAcls", req)
	if err == nil {
		for _, r := range resp.(*kmsg.DeleteACLsResponse).Results {
			err = first(err, exceptionOf(r.ErrorCode, r.ErrorMessage))
		}
	}
	return asExecution(err)
}
