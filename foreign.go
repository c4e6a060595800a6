package tare

// An Outside is what was seen of an agent of others' making beside its calls. It decides nothing.
type Outside struct {
	Messages []Message  `json:"messages,omitempty"` // what it printed on the way; bounded, the end is kept
	Network  []Exchange `json:"network,omitempty"`  // what it asked of its way out; of very many the first and the last
	Dialog   []byte     `json:"dialog,omitempty"`   // dialog.jsonl, where it wrote one itself
}

// A Message is something that an agent said.
type Message struct {
	At   float64 `json:"at"` // seconds since it was started
	Text string  `json:"text"`
}

// What an exchange was for.
const (
	ForModel = "model"
	ForWorld = "world" // of an MCP client that takes the way out for the way to everything
	ForHost  = "host"
)

// An Exchange is one request to the way out of a sandbox.
type Exchange struct {
	At      float64 `json:"at"`      // seconds since the way was opened
	Seconds float64 `json:"seconds"` // until it was over
	For     string  `json:"for"`
	Method  string  `json:"method"`
	Host    string  `json:"host"`
	Path    string  `json:"path,omitempty"`   // without its query; of CONNECT there is none
	Status  int     `json:"status,omitempty"` // 0: none came
	Sent    int64   `json:"sent"`             // bytes that the agent sent, of the body or the tunnel
	Got     int64   `json:"got"`              // bytes that it got, likewise
	Refused bool    `json:"refused,omitempty"`
	Left    bool    `json:"left,omitempty"`  // the agent hung up before the end
	Error   string  `json:"error,omitempty"` // what broke it off, or an error that its stream told of
}

// Failed reports whether the service failed: it gave an error, no answer, or one that broke off.
func (e Exchange) Failed() bool {
	return !e.Refused && (e.Status == 0 && !e.Left || e.Status >= 400 || e.Error != "")
}
