package tool

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// endpointController asks DescribeCluster for controllers instead of brokers (KIP-919).
const endpointController = 2

// bootstrapProperties is CommandLineUtils.initializeBootstrapProperties.
func bootstrapProperties(p clientProperties, servers, controllers string) error {
	switch {
	case servers != "" && controllers != "":
		return wrongUse{"You cannot specify both --bootstrap-controller and --bootstrap-server."}
	case servers != "":
		p[propBootstrap] = servers
		delete(p, propControllers)
	case controllers != "":
		p[propControllers] = controllers
		delete(p, propBootstrap)
	default:
		return wrongUse{"You must specify either --bootstrap-controller or --bootstrap-server."}
	}
	return nil
}

// nodesOf describes the cluster: its brokers, or its controllers if those are whom the client talks to.
func (c *cluster) nodesOf(ctx context.Context, fenced bool) (*kmsg.DescribeClusterResponse, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = fenced
	req.EndpointType = 1
	if c.controllers {
		req.EndpointType = endpointController
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var resp kmsg.Response
	var err error
	if c.controllers {
		resp, err = c.askSeed(ctx, req)
	} else {
		resp, err = c.Request(ctx, req)
	}
	if err != nil {
		return nil, callError(err, "listNodes")
	}
	r := resp.(*kmsg.DescribeClusterResponse)
	return r, exceptionOf(r.ErrorCode, r.ErrorMessage)
}

// callLeader is call; of a client that talks to controllers it asks the one that leads.
func (c *cluster) callLeader(ctx context.Context, e *Env, name string, req kmsg.Request) (kmsg.Response, error) {
	if !c.controllers {
		return c.call(ctx, name, req)
	}
	d, err := c.nodesOf(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, b := range d.Brokers {
		if b.NodeID == d.ControllerID {
			ctx, cancel := c.deadline(ctx)
			defer cancel()
			resp, err := e.askNode(ctx, c.props, node{b.NodeID, b.Host, b.Port, b.Rack}.address(), req)
			return resp, callError(err, name)
		}
	}
	return nil, thrown(classTimeout, "Timed out waiting for a node assignment. Call: %s", name)
}
