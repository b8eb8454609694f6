package cubeapi

import "net/http"

// compatJSON tells which templates fit the components of the nodes.
type compatJSON struct {
	Summary struct {
		StaleTemplates  int `json:"staleTemplates"`
		StaleReplicas   int `json:"staleReplicas"`
		AffectedNodes   int `json:"affectedNodes"`
		MissingReplicas int `json:"missingReplicas"`
		UnknownReplicas int `json:"unknownReplicas"`
	} `json:"summary"`
	Templates []compatRow `json:"templates"`
}

type compatRow struct {
	ID           string       `json:"templateID"`
	InstanceType string       `json:"instanceType,omitempty"`
	Overall      string       `json:"overall"`
	Nodes        []compatNode `json:"nodes"`
}

type compatNode struct {
	ID     string `json:"nodeID"`
	IP     string `json:"nodeIP,omitempty"`
	Status string `json:"compatStatus"`
}

const compatible = "OK"

// compat is there since 0.7.0, by which clients know that version. Every template
// here is one of this program's, so that all fit.
func (s *Server) compat(request) reply {
	out := compatJSON{Templates: []compatRow{}}
	for _, t := range s.opts.Cluster.Templates() {
		row := compatRow{t.ID, t.InstanceType, compatible, []compatNode{}}
		for _, r := range t.Replicas {
			row.Nodes = append(row.Nodes, compatNode{r.NodeID, r.NodeIP, compatible})
		}
		out.Templates = append(out.Templates, row)
	}
	return ok(http.StatusOK, out)
}
