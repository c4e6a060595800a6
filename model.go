package tare

// A ModelTurn is one answer of a model that an agent of ours asked, and what it took.
type ModelTurn struct {
	At       float64  `json:"at"`      // seconds since the episode began, when it was asked for
	Seconds  float64  `json:"seconds"` // until it was there
	Model    string   `json:"model"`
	Stop     string   `json:"stop,omitempty"` // why the answer ended, as its API says; absent where there was none
	Usage    Usage    `json:"usage"`
	Tries    int      `json:"tries"`              // how often it was asked for
	Lost     int      `json:"lost,omitempty"`     // tries that broke off: what they took is unknown
	Calls    int      `json:"calls,omitempty"`    // of tools, in the answer
	Mistakes []string `json:"mistakes,omitempty"` // calls that could not be made, and why
	Thought  string   `json:"thought,omitempty"`  // its reasoning, where that is asked for
}

// An Approval is a question to a person, or to what stands for one, before an agent went on.
type Approval struct {
	At       float64 `json:"at"`
	Asked    string  `json:"asked"`
	Approved bool    `json:"approved"`
	By       string  `json:"by"` // auto, terminal, command
	Why      string  `json:"why,omitempty"`
}

// TotalUsage is what all turns took together. What is unknown of one of them is unknown of all.
func TotalUsage(turns []ModelTurn) Usage {
	var out Usage
	for i, t := range turns {
		u := t.Usage
		if t.Lost > 0 {
			u = Usage{}
		}
		if i == 0 {
			out = u
			continue
		}
		out = Usage{
			InputTokens: plus(out.InputTokens, u.InputTokens), OutputTokens: plus(out.OutputTokens, u.OutputTokens),
			CacheReadTokens: plus(out.CacheReadTokens, u.CacheReadTokens), CacheWriteTokens: plus(out.CacheWriteTokens, u.CacheWriteTokens),
			ReasoningTokens: plus(out.ReasoningTokens, u.ReasoningTokens), Dollars: plus(out.Dollars, u.Dollars),
		}
	}
	return out
}

func plus[N int64 | float64](a, b *N) *N {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}
