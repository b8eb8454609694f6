package webui

// difference is one on purpose: which parts of the answer, and why.
type difference struct {
	parts  []string
	reason string
}

const ownPage = "the stand-in has a page of its own, which says that it is one"

var differences = map[string]difference{
	"root":             {[]string{"body", "content-length"}, ownPage},
	"root-head":        {[]string{"content-length"}, ownPage},
	"spa-route":        {[]string{"body", "content-length"}, ownPage},
	"root-query-token": {[]string{"body", "content-length"}, ownPage},
	"available-models": {[]string{"body"}, "the catalogue of providers, foreign endpoints all, is left out"},
}

const noChat = "Socket.IO, and so the chat, is not provided"

var notAsked = map[string]string{
	"sio-poll-no-auth":      noChat,
	"sio-chat-run-no-token": noChat,
	"sio-chat-run-turn":     noChat,
	"sessions-after-turn":   noChat + ": no session comes of it",
	"session-detail":        noChat + ": no session comes of it",
	"ws-terminal-token":     "no shell: the socket is cut, as the real one's is where node-pty is missing; TestTerminal",
	"ws-terminal-no-token":  "no HTTP answer to compare; TestTerminal",
	"gw-health":             "an answer of the Hermes gateway, not of the Web UI",
	"gw-models-key":         "an answer of the Hermes gateway, not of the Web UI",
}
