package localcube_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestReplaceNetwork wants PUT network to refuse what it does not know: a
// misspelt policy is not one that closes nothing.
func TestReplaceNetwork(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	id, _ := c.make("")
	for _, test := range []struct {
		name, id, body string
		status         int
		words          string
	}{
		{"empty", id, `{}`, 204, ""},
		{"all fields", id, `{"allowInternetAccess":true,"allowOut":["10.0.0.0/8"],"denyOut":["1.1.1.1"],"allowPublicTraffic":true,"maskRequestHost":"","rules":[]}`, 204, ""},
		{"unknown field", id, `{"denyout":["0.0.0.0/0"]}`, 422, "denyout: unknown field `denyout`, expected one of `allowInternetAccess`, "},
		{"as E2B's client spells it", id, `{"allowOut":["10.0.0.0/8"],"allow_internet_access":false}`, 204, ""},
		{"the other spelling", id, `{"allow_internet_access":true,"allow_out":["10.0.0.0/8"],"deny_out":["1.1.1.1"],"allow_public_traffic":true,"mask_request_host":""}`, 204, ""},
		{"both spellings", id, `{"allow_internet_access":false,"allowInternetAccess":true}`, 422, "duplicate field `allowInternetAccess`"},
		{"the shape of create", id, `{"network":{"denyOut":["0.0.0.0/0"]}}`, 422, "unknown field `network`"},
		{"wrong type", id, `{"allowOut":"10.0.0.0/8"}`, 422, "allowOut: invalid type: string"},
		{"no CIDR", id, `{"allowOut":["10.0.0.0/33"]}`, 400, "invalid CIDR or IP: 10.0.0.0/33"},
		{"domain while all is open", id, `{"allowOut":["example.com"]}`, 400, "disable public outbound traffic"},
		{"L7 rules", id, `{"rules":[{}]}`, 400, "no L7 rules"},
		{"unknown sandbox", "nope", `{}`, 404, "sandbox nope not found"},
	} {
		got := c.api(http.MethodPut, "/sandboxes/"+test.id+"/network", test.body)
		if got.status != test.status || !strings.Contains(got.body, test.words) {
			t.Errorf("%s: %d %s, want %d %s", test.name, got.status, got.body, test.status, test.words)
		}
	}
	c.api(http.MethodPost, "/sandboxes/"+id+"/pause", "")
	c.await(id, "paused")
	if got := c.api(http.MethodPut, "/sandboxes/"+id+"/network", `{}`); got.status != http.StatusConflict || !strings.Contains(got.body, "is not running") {
		t.Errorf("paused: %d %s, want 409", got.status, got.body)
	}
}
