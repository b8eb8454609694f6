package cube

import (
	"context"
	"net/http"
)

// Node is a machine that runs sandboxes.
type Node struct {
	ID           string `json:"node_id"`
	IP           string `json:"host_ip"`
	InstanceType string `json:"instance_type,omitempty"`
	Healthy      bool   `json:"healthy"`
	CPUMilli     Count  `json:"cpu_milli,omitempty"`
	MemoryMB     Count  `json:"memory_mb,omitempty"`
	HeartbeatAt  Time   `json:"heartbeat_at,omitzero"`
}

// Nodes lists the nodes: of CubeMaster, else of CubeAPI, which has them up to
// Cube 0.5.x only; later it is [ErrUnsupported].
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	var wire []nodeWire
	var err error
	if c.HasMaster() {
		answer := struct {
			Data *[]nodeWire `json:"data"`
		}{&wire}
		err = c.masterCall(ctx, call{method: http.MethodGet, path: "/internal/meta/nodes", budget: quick}, &answer)
	} else {
		err = c.apiCall(ctx, call{method: http.MethodGet, path: "/cubeapi/v1/nodes", budget: quick}, &wire)
	}
	nodes := make([]Node, 0, len(wire))
	for _, w := range wire {
		nodes = append(nodes, w.node())
	}
	return nodes, err
}

// nodeWire has the spellings of both.
type nodeWire struct {
	Node
	APIID        string       `json:"nodeID"`
	APIIP        string       `json:"hostIP"`
	APIType      string       `json:"instanceType"`
	Capacity     capacityWire `json:"capacity"`
	Heartbeat    Time         `json:"heartbeat_time"`
	APIHeartbeat Time         `json:"heartbeatTime"`
}

type capacityWire struct {
	CPUMilli Count `json:"milli_cpu"`
	APIMilli Count `json:"cpuMilli"`
	MemoryMB Count `json:"memory_mb"`
	APIMB    Count `json:"memoryMB"`
}

func (w nodeWire) node() Node {
	n := w.Node
	n.ID, n.IP = first(n.ID, w.APIID), first(n.IP, w.APIIP)
	n.InstanceType = first(n.InstanceType, w.APIType)
	n.HeartbeatAt = first(w.Heartbeat, w.APIHeartbeat)
	n.CPUMilli = first(w.Capacity.CPUMilli, w.Capacity.APIMilli)
	n.MemoryMB = first(w.Capacity.MemoryMB, w.Capacity.APIMB)
	return n
}

// first is the first that is not empty.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}
