package cube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/hermesbox/hermesbox/internal/cube/retry"
)

// judge reads an answer whole and tells whether it is an error.
func (s *service) judge(res *http.Response) error {
	body, err := readAll(res.Body)
	if errors.Is(err, errTooLong) {
		return s.strange(res, err.Error())
	}
	if err != nil {
		return retry.Lost(fmt.Errorf("reading the answer: %w", err))
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if location := res.Header.Get("Location"); location != "" && res.StatusCode/100 == 3 {
		return s.strange(res, "redirected elsewhere, which is not followed: "+redirect(res, location))
	}
	if s.name == "CubeMaster" {
		return s.judgeMaster(res, body)
	}
	return s.judgeAPI(res, body)
}

var errTooLong = fmt.Errorf("the answer is longer than %d MiB: another program listens at this address", answerLimit>>20)

// readAll reads and closes, up to the limit.
func readAll(r io.ReadCloser) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, answerLimit+1))
	if len(body) > answerLimit {
		err = errTooLong
	}
	if closing := r.Close(); err == nil {
		err = closing
	}
	return body, err
}

// redirect shows where a redirect leads.
func redirect(res *http.Response, location string) string {
	u, err := res.Request.URL.Parse(location)
	if err != nil {
		return "to an address that cannot be read"
	}
	return origin(u)
}

// quoted is how CubeAPI passes CubeMaster's errors on, in every version.
var quoted = regexp.MustCompile(`(?s)^CubeMaster returned error code (-?\d{1,9}): (.*)$`)

// judgeAPI knows CubeAPI's errors: JSON, plain text of its framework, or none.
func (s *service) judgeAPI(res *http.Response, body []byte) error {
	if res.StatusCode/100 == 2 {
		return nil
	}
	var shape struct {
		Message *string `json:"message"`
		Error   *string `json:"error"` // a gateway's
	}
	message := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &shape) == nil {
		switch {
		case shape.Message != nil:
			message = *shape.Message
		case shape.Error != nil:
			message = *shape.Error
		}
	}
	if m := quoted.FindStringSubmatch(message); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			return s.failure(res, code, m[2])
		}
	}
	return s.failure(res, 0, message)
}

// envelope is around every answer that CubeMaster itself makes.
type envelope struct {
	Ret *struct {
		Code *int   `json:"ret_code"`
		Msg  string `json:"ret_msg"`
	} `json:"ret"`
}

// judgeMaster knows CubeMaster's: the envelope wins over the HTTP status, 0
// and 200 are success, and what has no envelope is not CubeMaster's.
func (s *service) judgeMaster(res *http.Response, body []byte) error {
	var e envelope
	err := json.Unmarshal(body, &e)
	switch {
	case err == nil && e.Ret != nil && e.Ret.Code != nil:
		if code := *e.Ret.Code; code != 0 && code != 200 {
			return s.failure(res, code, e.Ret.Msg)
		}
		if res.StatusCode/100 == 2 {
			return nil
		}
		return s.failure(res, 0, e.Ret.Msg)
	case res.StatusCode/100 != 2:
		return s.failure(res, 0, strings.TrimSpace(string(body)))
	case err == nil:
		return s.strange(res, "the answer has no ret_code: another program listens at this address")
	default:
		return s.strange(res, unreadable(body, err))
	}
}
