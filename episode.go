package tare

import (
	"encoding/json"
	"time"
)

// An Episode names one attempt by one agent at one task. Two episodes with equal fields are the same planned work; the
// grader is no part of it, so a better grader judges again what was recorded.
type Episode struct {
	Task      string `json:"task"`
	TaskHash  Digest `json:"task_hash"`
	Agent     string `json:"agent"`
	Policy    string `json:"policy,omitempty"`
	Level     string `json:"level,omitempty"`
	Fault     string `json:"fault,omitempty"`
	World     string `json:"world,omitempty"`
	Limits    Limits `json:"limits"`
	Isolation string `json:"isolation"`
	Trial     int    `json:"trial"` // from 1
	Seed      int64  `json:"seed"`
}

// Key is the hash that plans, resumes and joins episodes.
func (e Episode) Key() Digest {
	b, err := Canonical(e)
	if err != nil {
		panic(err) // a struct of strings and numbers always encodes
	}
	return HashBytes(b)
}

// A Call is one tool call of an agent.
type Call struct {
	Index   int             `json:"index"` // from 0
	At      float64         `json:"at"`    // seconds since the episode began
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Note    string          `json:"note,omitempty"`     // why, in the words of whoever called
	RetryOf *int            `json:"retry_of,omitempty"` // index of the failed call that this one repeats or replaces
}

// An Observation is what came back from a call.
type Observation struct {
	OK      bool    `json:"ok"`      // the tool did what it was asked; a failing test run is OK
	Preview string  `json:"preview"` // the result's text, bounded, made valid UTF-8
	Digest  Digest  `json:"digest"`  // of the whole result
	Size    int     `json:"size"`    // bytes of the whole result
	Seconds float64 `json:"seconds"`
	Fault   string  `json:"fault,omitempty"` // the fault that was injected, if any

	// Of a scenario:
	Data  json.RawMessage `json:"data,omitempty"`  // the structured result, whole; absent where there is none or it is beyond MaxData
	Clock float64         `json:"clock,omitempty"` // simulated seconds since the beginning, when the answer came
}

// MaxData bounds what an Observation keeps of a structured result, in bytes.
const MaxData = 256 << 10

// A Step is a call with its observation.
type Step struct {
	Call        Call        `json:"call"`
	Observation Observation `json:"observation"`
}

// A StopReason says why an episode ended. The zero value means that the record breaks off.
type StopReason string

const (
	EndTurn       StopReason = "end_turn" // the agent said that it is done; the only reason that means so
	TurnLimit     StopReason = "turn_limit"
	WallLimit     StopReason = "wall_limit"
	TokenLimit    StopReason = "token_limit"
	BudgetLimit   StopReason = "budget"
	Refusal       StopReason = "refusal"
	Cancelled     StopReason = "cancelled"
	ProviderError StopReason = "provider_error" // the model's service failed: infrastructure
	AgentCrash    StopReason = "agent_crash"
	WorldError    StopReason = "world_error" // ours failed: infrastructure
)

// Infrastructure reports whether the reason is a failure that is not the agent's.
func (s StopReason) Infrastructure() bool { return s == ProviderError || s == WorldError }

// A Trajectory is the ordered record of an episode.
type Trajectory struct {
	Episode  Episode    `json:"episode"`
	Started  time.Time  `json:"started"`
	Finished time.Time  `json:"finished,omitzero"`
	Steps    []Step     `json:"steps"`
	Stop     StopReason `json:"stop,omitempty"`
	Detail   string     `json:"detail,omitempty"` // of the stop: an exit status, an error
	Final    string     `json:"final,omitempty"`  // the agent's last message, bounded

	// Of an agent that asks a model:
	Turns     []ModelTurn `json:"turns,omitempty"`
	Approvals []Approval  `json:"approvals,omitempty"`
	Usage     *Usage      `json:"usage,omitempty"` // of the whole episode, as its agent counts it; nil: unknown

	Outside *Outside `json:"outside,omitempty"` // of an agent of others' making
}
